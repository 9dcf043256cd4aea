#include "charts/chart_group.h"

#include <algorithm>

namespace millrace::ui {

ChartGroup::~ChartGroup() {
  for (LiveChart* chart : m_charts) {
    chart->setExtentSource({});
    chart->setCompanions(1);
  }
}

void ChartGroup::add(LiveChart* chart) {
  m_charts.push_back(chart);
  chart->setXAxisKind(m_kind);
  chart->setSmoothing(m_smoothing);
  chart->setExtentSource([this] { return extent(); });
  if (m_charts.size() > 1) chart->followViewOf(*m_charts.front());
  connect(chart, &LiveChart::viewChanged, this, [this, chart] { followView(chart); });
  connect(chart, &LiveChart::cursorMoved, this, [this, chart](double x) { showCursor(chart, x); });
  connect(chart, &LiveChart::cursorLeft, this, [this, chart] { showCursor(chart, std::nullopt); });
  // The rows of one are part of the range of all.
  connect(chart, &LiveChart::extentChanged, this, [this, chart] {
    for (LiveChart* other : m_charts)
      if (other != chart && other->followsX()) other->refresh();
  });
  connect(chart, &QObject::destroyed, this, &ChartGroup::remove);
  shareTime();
}

void ChartGroup::setXAxisKind(XAxisKind kind) {
  m_kind = kind;
  for (LiveChart* chart : m_charts) chart->setXAxisKind(kind);
  // Each found the rows it showed in its own tables; the first with rows decides.
  const auto first =
      std::find_if(m_charts.begin(), m_charts.end(), [](const LiveChart* chart) { return chart->xExtent(); });
  if (first != m_charts.end()) followView(*first);
}

void ChartGroup::setSmoothing(double weight) {
  m_smoothing = weight;
  for (LiveChart* chart : m_charts) chart->setSmoothing(weight);
}

void ChartGroup::fit() {
  for (LiveChart* chart : m_charts) chart->fit();
}

std::optional<Range> ChartGroup::extent() const {
  std::optional<Range> all;
  for (const LiveChart* chart : m_charts) all = united(all, chart->xExtent());
  return all;
}

void ChartGroup::followView(LiveChart* of) {
  for (LiveChart* chart : m_charts)
    if (chart != of) chart->followViewOf(*of);
}

void ChartGroup::showCursor(const LiveChart* of, std::optional<double> x) {
  for (LiveChart* chart : m_charts)
    if (chart != of) chart->setCursor(x);
}

void ChartGroup::remove(QObject* chart) {
  std::erase(m_charts, chart);
  shareTime();
}

void ChartGroup::shareTime() {
  for (LiveChart* chart : m_charts) chart->setCompanions(static_cast<int>(m_charts.size()));
}

} // namespace millrace::ui
