// What charts cost at their full scale: ten runs of a million points in one chart. Prints JSON. Runs on the platform
// plugin it is given; "offscreen" measures the drawing alone.
//   bench_charts [rows a run] [runs]
#include "charts/live_chart.h"
#include "charts/smoothed_column.h"

#include <QApplication>
#include <QElapsedTimer>
#include <QJsonDocument>
#include <QJsonObject>
#include <QSysInfo>
#include <QTemporaryDir>
#include <QThread>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>

using namespace millrace;
using namespace millrace::ui;

namespace {

constexpr int batchRows = 4096;
constexpr int columns = 24;

double seconds(const QElapsedTimer& timer) {
  return static_cast<double>(timer.nsecsElapsed()) / 1e9;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

double most(const std::vector<double>& values) {
  return values.empty() ? 0 : *std::max_element(values.begin(), values.end());
}

QStringList names(int count) {
  QStringList result = {QStringLiteral("step"), QStringLiteral("tokens"), QStringLiteral("time")};
  while (result.size() < count) result.push_back(QStringLiteral("value %1").arg(result.size()));
  return result;
}

/// The next rows of a noisy loss.
class Source {
 public:
  explicit Source(unsigned run, int width) : m_random(run), m_width(width) {}

  const std::vector<double>& next(std::int64_t rows) {
    m_rows.clear();
    for (std::int64_t row = 0; row < rows; ++row) {
      m_step += 1;
      m_rows.insert(m_rows.end(), {m_step, m_step * 524'288, 1.7e9 + m_step});
      const double loss = 2 + 8 * std::pow(m_step, -0.3) + 0.1 * m_noise(m_random);
      m_rows.insert(m_rows.end(), static_cast<std::size_t>(m_width - 3), loss);
    }
    return m_rows;
  }

 private:
  std::mt19937 m_random;
  std::normal_distribution<double> m_noise;
  int m_width;
  double m_step = 0;
  std::vector<double> m_rows;
};

struct Run {
  std::shared_ptr<MetricTable> table;
  Source source;
};

/// Milliseconds that the chart took for each of so many frames, with points arriving before each.
std::vector<double> frames(LiveChart& chart, std::vector<Run>& runs, int count) {
  std::vector<double> milliseconds;
  for (int frame = 0; frame < count; ++frame) {
    for (Run& run : runs) (void)run.table->appendRows(run.source.next(8));
    const std::int64_t before = chart.framesPainted();
    while (chart.framesPainted() == before) QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents);
    milliseconds.push_back(chart.pace().lastSeconds() * 1000);
  }
  return milliseconds;
}

void addFrames(QJsonObject& result, const QString& name, const std::vector<double>& milliseconds) {
  result[name + QStringLiteral("_median_ms")] = median(milliseconds);
  result[name + QStringLiteral("_max_ms")] = most(milliseconds);
}

/// Frames a second while points arrive every few milliseconds.
double frameRate(LiveChart& chart, std::vector<Run>& runs) {
  constexpr double duration = 3;
  QTimer feed;
  QObject::connect(&feed, &QTimer::timeout, [&] {
    for (Run& run : runs) (void)run.table->appendRows(run.source.next(4));
  });
  feed.start(5);
  const std::int64_t before = chart.framesPainted();
  QElapsedTimer timer;
  timer.start();
  while (seconds(timer) < duration) QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents);
  return static_cast<double>(chart.framesPainted() - before) / seconds(timer);
}

void measureAppend(QJsonObject& result, const QString& folder) {
  MetricTable table(names(columns), folder);
  for (int column = 3; column < columns; ++column) table.pyramid(column);
  Source source(1, columns);
  std::vector<double> milliseconds;
  QElapsedTimer timer;
  for (int batch = 0; batch < 256; ++batch) {
    const std::vector<double>& rows = source.next(batchRows);
    timer.start();
    (void)table.appendRows(rows);
    milliseconds.push_back(seconds(timer) * 1000);
  }
  result[QStringLiteral("append_batch_rows")] = batchRows;
  result[QStringLiteral("append_batch_columns")] = columns;
  result[QStringLiteral("append_batch_median_ms")] = median(milliseconds);
  result[QStringLiteral("append_batch_max_ms")] = most(milliseconds);
  result[QStringLiteral("pyramid_bytes_per_column_and_million_rows")] =
      static_cast<double>(table.pyramidBytes()) / (columns - 3) / static_cast<double>(table.rows()) * 1e6;
}

void measureCharts(QJsonObject& result, const QString& folder, std::int64_t rows, int count) {
  std::vector<Run> runs;
  LiveChart chart(QStringLiteral("loss"), QStringLiteral("nats"));
  for (int i = 0; i < count; ++i) {
    runs.push_back({std::make_shared<MetricTable>(names(4), folder), Source(static_cast<unsigned>(i), 4)});
    for (std::int64_t left = rows; left > 0; left -= batchRows)
      (void)runs.back().table->appendRows(runs.back().source.next(std::min<std::int64_t>(left, batchRows)));
    ChartSeries series;
    series.table = runs.back().table;
    series.column = 3;
    series.name = QStringLiteral("run %1").arg(i);
    chart.addSeries(series);
  }
  const auto last = static_cast<double>(rows);
  chart.resize(1000, 500);
  chart.show();
  frames(chart, runs, 3);
  addFrames(result, QStringLiteral("fit"), frames(chart, runs, 60));
  result[QStringLiteral("fit_frames_per_second")] = frameRate(chart, runs);
  chart.showX({last * 0.4, last * 0.6});
  addFrames(result, QStringLiteral("fifth"), frames(chart, runs, 60));
  chart.showX({last * 0.5, last * 0.5 + 1500});
  addFrames(result, QStringLiteral("zoomed"), frames(chart, runs, 60));
  chart.fit();
  chart.setLogarithmic(true);
  addFrames(result, QStringLiteral("logarithmic"), frames(chart, runs, 60));
  chart.setLogarithmic(false);
  chart.setSmoothing(0.98);
  addFrames(result, QStringLiteral("smoothing_begins"), frames(chart, runs, 60));
  addFrames(result, QStringLiteral("smoothed"), frames(chart, runs, 60));
  result[QStringLiteral("smoothed_frames_per_second")] = frameRate(chart, runs);

  SmoothedColumn column(runs[0].table, 3, 0.9);
  std::int64_t budget = rows;
  QElapsedTimer timer;
  timer.start();
  column.recomputeSome(budget);
  result[QStringLiteral("smoothing_ns_per_row")] = seconds(timer) * 1e9 / last;
}

} // namespace

int main(int argc, char** argv) {
  QApplication application(argc, argv);
  const QStringList arguments = QApplication::arguments();
  const std::int64_t rows = arguments.size() > 1 ? arguments[1].toLongLong() : 1'000'000;
  const int runs = arguments.size() > 2 ? arguments[2].toInt() : 10;
  if (rows < 10'000 || runs < 1) {
    std::fprintf(stderr, "usage: bench_charts [rows a run, 10000 or more] [runs]\n");
    return 2;
  }
  const QTemporaryDir folder;
  QJsonObject result;
  result[QStringLiteral("cpu_threads")] = QThread::idealThreadCount();
  result[QStringLiteral("cpu_architecture")] = QSysInfo::currentCpuArchitecture();
  result[QStringLiteral("qt")] = QString::fromLatin1(qVersion());
  result[QStringLiteral("platform")] = QGuiApplication::platformName();
  result[QStringLiteral("scale")] = qApp->devicePixelRatio();
  result[QStringLiteral("rows")] = static_cast<double>(rows);
  result[QStringLiteral("runs")] = runs;
  measureAppend(result, folder.path());
  measureCharts(result, folder.path(), rows, runs);
  std::printf("%s", QJsonDocument(result).toJson().constData());
  return 0;
}
