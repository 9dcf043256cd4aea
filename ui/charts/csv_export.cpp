#include "charts/csv_export.h"

#include <QDir>
#include <QElapsedTimer>
#include <QTimer>
#include <algorithm>
#include <charconv>
#include <cmath>

namespace millrace::ui {

namespace {

constexpr qsizetype writtenAtOnce = 1 << 20;
constexpr qint64 sliceMilliseconds = 5;

void append(QByteArray& text, double value) {
  if (std::isnan(value)) {
    text += "nan";
    return;
  }
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  text.append(digits, end - digits);
}

/// Quoted where it must be (RFC 4180).
void append(QByteArray& text, const QString& name) {
  QByteArray bytes = name.toUtf8();
  if (bytes.contains(',') || bytes.contains('"') || bytes.contains('\n') || bytes.contains('\r'))
    bytes = '"' + bytes.replace("\"", "\"\"") + '"';
  text += bytes;
}

} // namespace

CsvExport::CsvExport(const LiveChart& chart, const QString& path, bool onlyInView, QObject* parent)
    : QObject(parent), m_file(path) {
  m_text = "series,step,tokens,time,";
  append(m_text, chart.quantity());
  m_text += '\n';
  const XAxisKind kind = chart.xAxisKind();
  for (int index = 0; index < chart.seriesCount(); ++index) {
    const ChartSeries& series = chart.series(index);
    const MetricTable& table = *series.table;
    m_parts.push_back({series, onlyInView ? table.lowerBound(kind, chart.xView().lower) : 0,
                       onlyInView ? table.upperBound(kind, chart.xView().upper) : table.rows()});
  }
}

void CsvExport::start() {
  m_good = m_file.open(QIODevice::WriteOnly);
  QTimer::singleShot(0, this, &CsvExport::writeSome);
}

void CsvExport::writeSome() {
  QElapsedTimer slice;
  slice.start();
  while (m_good && m_part < m_parts.size() && slice.elapsed() < sliceMilliseconds) {
    Part& part = m_parts[m_part];
    // A run that went back to a checkpoint has fewer rows than it had.
    const std::int64_t end = std::min(part.end, part.series.table->rows());
    constexpr std::int64_t rowsAtOnce = 256;
    for (const std::int64_t stop = std::min(end, part.row + rowsAtOnce); part.row < stop; ++part.row) appendRow(part);
    if (part.row >= end) ++m_part;
    if (m_text.size() < writtenAtOnce && m_part < m_parts.size()) continue;
    m_good = m_file.write(m_text) == m_text.size();
    m_text.clear();
  }
  if (m_good && m_part < m_parts.size())
    QTimer::singleShot(0, this, &CsvExport::writeSome);
  else
    finish();
}

void CsvExport::appendRow(const Part& part) {
  append(m_text, part.series.name);
  for (const int column : {0, 1, 2, part.series.column}) {
    m_text += ',';
    append(m_text, part.series.table->value(column, part.row));
  }
  m_text += '\n';
}

void CsvExport::finish() {
  m_good = m_good && m_file.write(m_text) == m_text.size() && m_file.commit();
  Q_EMIT finished(
      m_good ? QString()
             : tr("%1 cannot be written: %2").arg(QDir::toNativeSeparators(m_file.fileName()), m_file.errorString()));
}

} // namespace millrace::ui
