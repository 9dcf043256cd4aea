#include "charts/chart_export.h"

#include "charts/chart_colors.h"

#include <QBuffer>
#include <QCoreApplication>
#include <QDir>
#include <QImage>
#include <QSaveFile>
#include <QSvgGenerator>
#include <charconv>
#include <cmath>

namespace millrace::ui {

namespace {

constexpr qsizetype writeBytes = 1 << 20;

QString tr(const char* text) {
  return QCoreApplication::translate("millrace::ui::ChartExport", text);
}

Result<void> cannotWrite(const QSaveFile& file) {
  const QString message =
      tr("%1 cannot be written: %2").arg(QDir::toNativeSeparators(file.fileName()), file.errorString());
  return failed(message.toStdString());
}

/// A file that gathers what is written.
class Writer {
 public:
  explicit Writer(const QString& path) : m_file(path) { m_good = m_file.open(QIODevice::WriteOnly); }

  QByteArray& text() { return m_text; }
  bool flushIfLarge() { return m_text.size() < writeBytes || flush(); }
  bool flush() {
    m_good = m_good && m_file.write(m_text) == m_text.size();
    m_text.clear();
    return m_good;
  }
  Result<void> finish() {
    if (!flush() || !m_file.commit()) return cannotWrite(m_file);
    return {};
  }

 private:
  QSaveFile m_file;
  QByteArray m_text;
  bool m_good = false;
};

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

Result<void> write(const QString& path, const QByteArray& bytes) {
  Writer writer(path);
  writer.text() = bytes;
  return writer.finish();
}

} // namespace

Result<void> exportPng(LiveChart& chart, const QString& path, QSize size, double scale, bool printColors) {
  QImage image(size * scale, QImage::Format_RGB32);
  if (image.isNull())
    return failed(tr("A picture of %1 x %2 is too large.").arg(size.width()).arg(size.height()).toStdString());
  image.setDevicePixelRatio(scale);
  chart.paintOn(image, size, printColors ? printPalette() : chart.palette(), false);
  QByteArray bytes;
  QBuffer buffer(&bytes);
  buffer.open(QIODevice::WriteOnly);
  if (!image.save(&buffer, "PNG")) return failed(tr("The picture could not be made.").toStdString());
  return write(path, bytes);
}

Result<void> exportSvg(LiveChart& chart, const QString& path, QSize size) {
  QByteArray bytes;
  QBuffer buffer(&bytes);
  buffer.open(QIODevice::WriteOnly);
  QSvgGenerator generator;
  generator.setOutputDevice(&buffer);
  generator.setSize(size);
  generator.setResolution(96); // what a pixel is in SVG
  generator.setViewBox(QRect(QPoint(), size));
  generator.setTitle(chart.accessibleName());
  chart.paintOn(generator, size, printPalette(), true);
  return write(path, bytes);
}

Result<void> exportCsv(const MetricTable& table, const QString& path, std::int64_t begin, std::int64_t end) {
  Writer writer(path);
  for (int column = 0; column < table.columns(); ++column) {
    if (column > 0) writer.text() += ',';
    append(writer.text(), table.names()[column]);
  }
  writer.text() += '\n';
  for (std::int64_t row = begin; row < end && writer.flushIfLarge(); ++row) {
    for (int column = 0; column < table.columns(); ++column) {
      if (column > 0) writer.text() += ',';
      append(writer.text(), table.value(column, row));
    }
    writer.text() += '\n';
  }
  return writer.finish();
}

Result<void> exportCsv(const LiveChart& chart, const QString& path, bool onlyInView) {
  Writer writer(path);
  writer.text() += "series,step,tokens,time,";
  append(writer.text(), chart.quantity());
  writer.text() += '\n';
  for (int index = 0; index < chart.seriesCount(); ++index) {
    const ChartSeries& series = chart.series(index);
    const MetricTable& table = *series.table;
    const XAxisKind kind = chart.xAxisKind();
    const std::int64_t begin = onlyInView ? table.lowerBound(kind, chart.xView().lower) : 0;
    const std::int64_t end = onlyInView ? table.upperBound(kind, chart.xView().upper) : table.rows();
    for (std::int64_t row = begin; row < end && writer.flushIfLarge(); ++row) {
      append(writer.text(), series.name);
      for (const int column : {0, 1, 2, series.column}) {
        writer.text() += ',';
        append(writer.text(), table.value(column, row));
      }
      writer.text() += '\n';
    }
  }
  return writer.finish();
}

} // namespace millrace::ui
