#include "train/charts_panel.h"

#include "charts/chart_export.h"
#include "charts/csv_export.h"
#include "charts/smoothing_slider.h"
#include "models/run_columns.h"
#include "style/flow_layout.h"
#include "style/icons.h"
#include "train/run_session.h"

#include <QApplication>
#include <QCheckBox>
#include <QComboBox>
#include <QFileDialog>
#include <QGridLayout>
#include <QLabel>
#include <QMenu>
#include <QPushButton>
#include <QResizeEvent>
#include <QScrollArea>
#include <QVBoxLayout>
#include <algorithm>

namespace millrace::ui {

namespace {

/// Width from which charts stand side by side.
constexpr int chartWidth = 460;
constexpr int chartHeight = 230;
constexpr int leastHeight = 150;

ChartSeries seriesOf(const std::shared_ptr<MetricTable>& table, int column, const QString& name,
                     ChartSeries::Style style = ChartSeries::Style::Line) {
  ChartSeries series;
  series.table = table;
  series.column = column;
  series.name = name;
  series.style = style;
  series.marksNan = false;
  return series;
}

ChartSeries seriesOf(const std::shared_ptr<MetricTable>& table, StepColumn column, const QString& name) {
  return seriesOf(table, static_cast<int>(column), name);
}

} // namespace

ChartsPanel::ChartsPanel(QWidget* parent)
    : QWidget(parent), m_grid(nullptr), m_xAxis(new QComboBox), m_smoothing(new SmoothingSlider) {
  m_xAxis->setObjectName(QStringLiteral("xAxis"));
  m_xAxis->addItem(tr("Steps"), static_cast<int>(XAxisKind::Step));
  m_xAxis->addItem(tr("Tokens"), static_cast<int>(XAxisKind::Tokens));
  m_xAxis->addItem(tr("Time"), static_cast<int>(XAxisKind::Time));
  auto* xLabel = new QLabel(tr("Ov&er:"));
  xLabel->setBuddy(m_xAxis);
  auto* logarithmic = new QCheckBox(tr("&Logarithmic loss"));
  logarithmic->setObjectName(QStringLiteral("logLoss"));
  auto* fit = new QPushButton(tr("Sho&w all"));
  fit->setObjectName(QStringLiteral("fitCharts"));
  fit->setAutoDefault(false);
  auto* exports = new QPushButton(tr("E&xport chart"));
  exports->setObjectName(QStringLiteral("exportChart"));
  exports->setAutoDefault(false);
  auto* menu = new QMenu(exports);
  menu->addAction(tr("&Picture (PNG)…"), this, [this] { chooseExport(Export::Png); });
  menu->addAction(tr("&Drawing (SVG)…"), this, [this] { chooseExport(Export::Svg); });
  menu->addAction(tr("&Numbers (CSV)…"), this, [this] { chooseExport(Export::Csv); });
  exports->setMenu(menu);

  auto* bar = new FlowLayout;
  const auto together = [bar](std::initializer_list<QWidget*> widgets) {
    auto* group = new QWidget;
    auto* line = new QHBoxLayout(group);
    line->setContentsMargins(0, 0, 12, 0);
    for (QWidget* widget : widgets) line->addWidget(widget);
    bar->addWidget(group);
  };
  together({xLabel, m_xAxis});
  together({m_smoothing});
  together({logarithmic});
  bar->addWidget(fit);
  bar->addWidget(exports);

  auto* content = new QWidget;
  m_grid = new QGridLayout(content);
  m_grid->setContentsMargins(0, 0, 0, 0);
  m_loss = addChart(tr("loss"), tr("nats"), QStringLiteral("lossChart"));
  m_tokens = addChart(tr("tokens/s"), {}, QStringLiteral("tokensChart"));
  m_gradNorm = addChart(tr("gradient norm"), {}, QStringLiteral("gradNormChart"));
  m_learningRate = addChart(tr("learning rate"), {}, QStringLiteral("learningRateChart"));
  m_link = addChart(tr("link"), tr("% of its peak"), QStringLiteral("linkChart"));
  m_memory = addChart(tr("memory"), {}, QStringLiteral("memoryChart"));
  m_stalls = addChart(tr("waiting"), tr("% of the step"), QStringLiteral("stallsChart"));
  m_gpu = addChart(tr("GPU"), tr("% of the time"), QStringLiteral("gpuChart"));
  m_gpu->setYAtLeast(Range{0, 100});
  m_gpu->hide();
  m_link->setYAtLeast(Range{0, 100});
  m_stalls->setYAtLeast(Range{0, 10});
  m_memory->setYNumbers(AxisNumbers::Bytes);
  m_tokens->setYNumbers(AxisNumbers::Count);
  auto* scroll = new QScrollArea;
  scroll->setWidget(content);
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setMinimumHeight(leastHeight);
  scroll->setFocusPolicy(Qt::NoFocus); // the charts have it
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addLayout(bar);
  layout->addWidget(scroll, 1);

  connect(m_xAxis, &QComboBox::currentIndexChanged, this,
          [this] { m_group.setXAxisKind(static_cast<XAxisKind>(m_xAxis->currentData().toInt())); });
  connect(m_smoothing, &SmoothingSlider::weightChanged, this, &ChartsPanel::setSmoothing);
  connect(logarithmic, &QCheckBox::toggled, m_loss, &LiveChart::setLogarithmic);
  connect(m_loss, &LiveChart::logarithmicChanged, logarithmic, &QCheckBox::setChecked);
  connect(fit, &QPushButton::clicked, &m_group, &ChartGroup::fit);
  connect(qApp, &QApplication::focusChanged, this, [this](QWidget*, QWidget* now) {
    for (LiveChart* chart : m_group.charts())
      if (now && (chart == now || chart->isAncestorOf(now))) m_current = chart;
  });
  setSmoothing(m_smoothing->weight());
  setFocusProxy(m_loss);
  arrange();
}

ChartsPanel::~ChartsPanel() = default;

LiveChart* ChartsPanel::addChart(const QString& quantity, const QString& unit, const QString& name) {
  auto* chart = new LiveChart(quantity, unit);
  chart->setParent(m_grid->parentWidget()); // one that is not shown has no place in the grid
  chart->setObjectName(name);
  chart->setMinimumHeight(chartHeight);
  chart->setEmptyText(tr("No steps yet"));
  m_group.add(chart);
  return chart;
}

void ChartsPanel::show(RunSession* session) {
  if (m_session) m_session->disconnect(this);
  m_session = session;
  showGpu();
  for (LiveChart* chart : m_group.charts()) chart->clearSeries();
  if (!session) return;
  const auto steps = session->steps();
  const auto add = [&](LiveChart* chart, StepColumn column, const QString& name) {
    chart->addSeries(seriesOf(steps, column, name));
  };
  ChartSeries loss = seriesOf(steps, StepColumn::Loss, tr("train"));
  loss.marksNan = true;
  m_loss->addSeries(loss);
  ChartSeries validation = seriesOf(session->evaluations(), static_cast<int>(EvaluationColumn::Loss), tr("validation"),
                                    ChartSeries::Style::Points);
  validation.marksNan = true;
  m_loss->addSeries(validation);
  add(m_tokens, StepColumn::TokensPerSecond, tr("tokens/s"));
  ChartSeries norm = seriesOf(steps, StepColumn::GradNorm, tr("gradient norm"));
  norm.marksNan = true;
  m_gradNorm->addSeries(norm);
  add(m_learningRate, StepColumn::LearningRate, tr("learning rate"));
  add(m_link, StepColumn::LinkIn, tr("to the device"));
  add(m_link, StepColumn::LinkOut, tr("to the host"));
  add(m_memory, StepColumn::DeviceBytes, tr("device, used"));
  add(m_memory, StepColumn::PlannedDevice, tr("device, planned"));
  add(m_memory, StepColumn::HostBytes, tr("host, used"));
  add(m_memory, StepColumn::PlannedHost, tr("host, planned"));
  add(m_stalls, StepColumn::StallWeights, tr("for weights"));
  add(m_stalls, StepColumn::StallOptimizer, tr("for AdamW"));
  add(m_stalls, StepColumn::StallCopyOut, tr("for copies out"));
  add(m_stalls, StepColumn::StallData, tr("for data"));
  add(m_gpu, StepColumn::GpuUtilization, tr("computes"));
  connect(session, &RunSession::stepped, this, &ChartsPanel::showGpu);
  m_group.fit();
}

void ChartsPanel::setSmoothing(double weight) {
  // Of the noisy ones alone: what is planned or scheduled has nothing to be smoothed.
  for (LiveChart* chart : {m_loss, m_gradNorm, m_tokens}) chart->setSmoothing(weight);
}

void ChartsPanel::showGpu() {
  const bool has = m_session && m_session->hasGpu();
  if (m_gpu->isHidden() == !has) return;
  m_gpu->setVisible(has);
  m_columns = 0;
  arrange();
}

void ChartsPanel::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  arrange();
}

void ChartsPanel::arrange() {
  const int columns = std::max(1, width() / chartWidth);
  if (columns == m_columns) return;
  m_columns = columns;
  const std::vector<LiveChart*>& charts = m_group.charts();
  for (LiveChart* chart : charts) m_grid->removeWidget(chart);
  int place = 0;
  for (LiveChart* chart : charts) {
    if (chart->isHidden()) continue;
    m_grid->addWidget(chart, place / columns, place % columns);
    ++place;
  }
}

LiveChart* ChartsPanel::currentChart() const {
  return m_current ? m_current : m_loss;
}

void ChartsPanel::chooseExport(Export format) {
  LiveChart* chart = currentChart();
  const QString ending = format == Export::Png   ? QStringLiteral("png")
                         : format == Export::Svg ? QStringLiteral("svg")
                                                 : QStringLiteral("csv");
  const QString name = m_session ? m_session->name() : tr("run");
  auto* dialog = new QFileDialog(this, tr("Export the chart of %1").arg(chart->quantity()),
                                 QStringLiteral("%1-%2.%3").arg(name, chart->quantity(), ending).replace(u'/', u'_'),
                                 QStringLiteral("*.") + ending);
  dialog->setAcceptMode(QFileDialog::AcceptSave);
  dialog->setDefaultSuffix(ending);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  connect(dialog, &QFileDialog::fileSelected, chart, [this, chart, format](const QString& path) {
    if (format == Export::Csv) {
      auto* file = new CsvExport(*chart, path, false, this);
      connect(file, &CsvExport::finished, this, [this, file](const QString& error) {
        file->deleteLater();
        if (!error.isEmpty()) Q_EMIT exportFailed(error);
      });
      file->start();
      return;
    }
    const auto done =
        format == Export::Png ? exportPng(*chart, path, chart->size()) : exportSvg(*chart, path, chart->size());
    if (!done) Q_EMIT exportFailed(QString::fromStdString(done.error().message));
  });
  dialog->open();
}

} // namespace millrace::ui
