#include "runs/overlay_charts.h"

#include "charts/chart_colors.h"
#include "charts/smoothing_slider.h"
#include "models/run_columns.h"
#include "runs/overlaid_run.h"
#include "style/flow_layout.h"

#include <QCheckBox>
#include <QComboBox>
#include <QGridLayout>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QVBoxLayout>
#include <algorithm>

namespace millrace::ui {

namespace {

/// Widths from which two and all four charts stand side by side.
constexpr int pairWidth = 840;
constexpr int rowWidth = 1800;
constexpr int chartHeight = 220;
constexpr int leastHeight = 150;

static_assert(OverlayCharts::mostRuns == seriesColorCount);

} // namespace

OverlayCharts::OverlayCharts(QString cacheFolder, QWidget* parent)
    : QWidget(parent),
      m_cacheFolder(std::move(cacheFolder)),
      m_xAxis(new QComboBox),
      m_smoothing(new SmoothingSlider),
      m_leftOut(new QLabel) {
  m_xAxis->setObjectName(QStringLiteral("compareXAxis"));
  m_xAxis->addItem(tr("Steps"), static_cast<int>(XAxisKind::Step));
  m_xAxis->addItem(tr("Tokens"), static_cast<int>(XAxisKind::Tokens));
  m_xAxis->addItem(tr("Time"), static_cast<int>(XAxisKind::Time));
  auto* xLabel = new QLabel(tr("Ov&er:"));
  xLabel->setBuddy(m_xAxis);
  auto* over = new QWidget;
  auto* overLayout = new QHBoxLayout(over);
  overLayout->setContentsMargins(0, 0, 12, 0);
  overLayout->addWidget(xLabel);
  overLayout->addWidget(m_xAxis);
  auto* logarithmic = new QCheckBox(tr("&Logarithmic loss"));
  logarithmic->setObjectName(QStringLiteral("compareLogLoss"));
  auto* fit = new QPushButton(tr("Sho&w all"));
  fit->setObjectName(QStringLiteral("compareFit"));
  fit->setAutoDefault(false);
  m_leftOut->setObjectName(QStringLiteral("leftOut"));
  m_leftOut->setWordWrap(true);
  m_leftOut->hide();

  auto* bar = new FlowLayout;
  bar->addWidget(over);
  bar->addWidget(m_smoothing);
  bar->addWidget(logarithmic);
  bar->addWidget(fit);

  auto* content = new QWidget;
  m_grid = new QGridLayout(content);
  m_grid->setContentsMargins(0, 0, 0, 0);
  m_loss = addChart(tr("training loss"), tr("nats"), QStringLiteral("compareLoss"));
  m_validation = addChart(tr("validation loss"), tr("nats"), QStringLiteral("compareValidation"));
  m_tokens = addChart(tr("tokens/s"), {}, QStringLiteral("compareTokens"));
  m_gradNorm = addChart(tr("gradient norm"), {}, QStringLiteral("compareGradNorm"));
  m_validation->setEmptyText(tr("No evaluations yet"));
  m_tokens->setYNumbers(AxisNumbers::Count);
  auto* scroll = new QScrollArea;
  scroll->setWidget(content);
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setMinimumHeight(leastHeight);
  scroll->setFocusPolicy(Qt::NoFocus); // the charts have it
  auto* layout = new QVBoxLayout(this);
  layout->addLayout(bar);
  layout->addWidget(m_leftOut);
  layout->addWidget(scroll, 1);

  const auto smooth = [this](double weight) {
    for (LiveChart* chart : {m_loss, m_tokens, m_gradNorm}) chart->setSmoothing(weight);
  };
  smooth(m_smoothing->weight());
  connect(m_smoothing, &SmoothingSlider::weightChanged, this, smooth);
  connect(m_xAxis, &QComboBox::currentIndexChanged, this,
          [this] { m_group.setXAxisKind(static_cast<XAxisKind>(m_xAxis->currentData().toInt())); });
  connect(logarithmic, &QCheckBox::toggled, m_loss, &LiveChart::setLogarithmic);
  connect(logarithmic, &QCheckBox::toggled, m_validation, &LiveChart::setLogarithmic);
  connect(m_loss, &LiveChart::logarithmicChanged, logarithmic, &QCheckBox::setChecked);
  connect(fit, &QPushButton::clicked, &m_group, &ChartGroup::fit);
  setFocusProxy(m_loss);
  arrange();
}

OverlayCharts::~OverlayCharts() = default;

LiveChart* OverlayCharts::addChart(const QString& quantity, const QString& unit, const QString& name) {
  auto* chart = new LiveChart(quantity, unit);
  chart->setObjectName(name);
  chart->setMinimumHeight(chartHeight);
  m_group.add(chart);
  m_grid->addWidget(chart);
  return chart;
}

void OverlayCharts::show(const std::vector<Line>& runs) {
  const std::size_t shown = std::min(runs.size(), static_cast<std::size_t>(mostRuns));
  m_leftOut->setVisible(shown < runs.size());
  m_leftOut->setText(tr("The first %1 of %2 runs are drawn.").arg(shown).arg(runs.size()));
  std::vector<std::unique_ptr<OverlaidRun>> before = std::move(m_runs);
  m_runs.clear();
  bool changed = before.size() != shown;
  for (std::size_t i = 0; i < shown; ++i) {
    const auto known = std::find_if(before.begin(), before.end(), [&](const std::unique_ptr<OverlaidRun>& run) {
      return run && run->path() == runs[i].path && run->name() == runs[i].name;
    });
    changed = changed || known - before.begin() != static_cast<std::ptrdiff_t>(i);
    m_runs.push_back(known == before.end() ? std::make_unique<OverlaidRun>(runs[i].path, runs[i].name, m_cacheFolder)
                                           : std::move(*known));
  }
  if (changed) draw();
}

void OverlayCharts::draw() {
  for (LiveChart* chart : m_group.charts()) chart->clearSeries();
  int color = 0;
  for (const auto& run : m_runs) {
    const auto add = [&](LiveChart* chart, const std::shared_ptr<MetricTable>& table, int column) {
      ChartSeries series;
      series.table = table;
      series.column = column;
      series.name = run->name();
      series.color = color;
      chart->addSeries(series);
    };
    const RunTables& tables = run->tables();
    add(m_loss, tables.steps(), static_cast<int>(StepColumn::Loss));
    // Few and far apart, but of several runs lines are told apart more easily than points.
    add(m_validation, tables.evaluations(), static_cast<int>(EvaluationColumn::Loss));
    add(m_tokens, tables.steps(), static_cast<int>(StepColumn::TokensPerSecond));
    add(m_gradNorm, tables.steps(), static_cast<int>(StepColumn::GradNorm));
    ++color;
  }
  m_group.fit();
}

void OverlayCharts::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  arrange();
}

void OverlayCharts::arrange() {
  const int columns = width() < pairWidth ? 1 : width() < rowWidth ? 2 : 4;
  if (columns == m_columns) return;
  m_columns = columns;
  int place = 0;
  for (LiveChart* chart : m_group.charts()) {
    m_grid->removeWidget(chart);
    m_grid->addWidget(chart, place / columns, place % columns);
    ++place;
  }
}

} // namespace millrace::ui
