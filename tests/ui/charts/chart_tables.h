// Tables of metrics for tests, and waiting for a chart to have painted all it has to.
#pragma once

#include "charts/live_chart.h"

#include <QTest>
#include <functional>

namespace millrace::ui {

inline const double notANumber = std::numeric_limits<double>::quiet_NaN();
inline const double infinity = std::numeric_limits<double>::infinity();

/// Columns step, tokens, time and value: steps 1, 2, ..., 1000 tokens and 2 seconds each.
inline void appendValues(MetricTable& table, std::int64_t count, const std::function<double(std::int64_t)>& value) {
  std::vector<double> rows;
  const std::int64_t before = table.rows();
  for (std::int64_t row = before; row < before + count; ++row) {
    const auto step = static_cast<double>(row + 1);
    rows.insert(rows.end(), {step, 1000 * step, 1.7e9 + 2 * step, value(row)});
  }
  QVERIFY(table.appendRows(rows).has_value());
}

inline std::shared_ptr<MetricTable> tableOf(std::int64_t count, const std::function<double(std::int64_t)>& value) {
  const QStringList names = {QStringLiteral("step"), QStringLiteral("tokens"), QStringLiteral("time"),
                             QStringLiteral("loss")};
  auto table = std::make_shared<MetricTable>(names);
  appendValues(*table, count, value);
  return table;
}

inline ChartSeries seriesOf(std::shared_ptr<MetricTable> table, const QString& name = QStringLiteral("train")) {
  ChartSeries series;
  series.table = std::move(table);
  series.column = 3;
  series.name = name;
  return series;
}

/// True once the chart has painted everything.
inline bool settle(LiveChart& chart) {
  return QTest::qWaitFor([&] {
    QCoreApplication::sendPostedEvents();
    return chart.framesPainted() > 0 && !chart.isFramePending();
  });
}

inline bool showAndSettle(LiveChart& chart, QSize size = {640, 320}) {
  chart.resize(size);
  chart.show();
  return QTest::qWaitForWindowExposed(&chart) && settle(chart);
}

} // namespace millrace::ui
