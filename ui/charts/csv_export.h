// CsvExport: the rows behind a chart as a file, a little at a time between the other events of the GUI thread, so that
// a million rows do not hold the window. Written aside and renamed: the file is there whole or not at all.
#pragma once

#include "charts/live_chart.h"

#include <QObject>
#include <QSaveFile>
#include <vector>

namespace millrace::ui {

/// The chart's series one after the other: name, step, tokens, time and value of every row that there is now, or of
/// those in view. Numbers are as short as they can be and still read back to the same bits; "nan", "inf", "-inf".
class CsvExport final : public QObject {
  Q_OBJECT

 public:
  /// The chart need not outlive it.
  CsvExport(const LiveChart& chart, const QString& path, bool onlyInView, QObject* parent = nullptr);
  /// Begins once; finished() comes later.
  void start();

 Q_SIGNALS:
  void finished(const QString& error); ///< empty when the file is there; names the file otherwise

 private:
  struct Part {
    ChartSeries series;
    std::int64_t row = 0;
    std::int64_t end = 0;
  };

  void writeSome();
  void appendRow(const Part& part);
  void finish();

  QSaveFile m_file;
  QByteArray m_text;
  std::vector<Part> m_parts;
  std::size_t m_part = 0;
  bool m_good = false;
};

} // namespace millrace::ui
