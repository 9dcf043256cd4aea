#include "hardware/hardware_page.h"

#include "bridge/background.h"
#include "bridge/text.h"
#include "hardware/machine_text.h"
#include "hardware/measure_panel.h"
#include "hardware/meter_board.h"
#include "hardware/rate_model.h"
#include "hardware/topology_model.h"
#include "style/elided_label.h"
#include "style/icons.h"
#include "style/numbers.h"
#include "style/page_area.h"
#include "style/status_line.h"

#include <QGroupBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QSplitter>
#include <QTableView>
#include <QTreeView>
#include <QVBoxLayout>

namespace millrace::ui {

namespace {

/// Width from which the two tables stand beside each other.
constexpr int besideWidth = 900;
constexpr int leastLines = 11; ///< of a table that are seen
/// What columns of names begin with at most: names may be of any length.
constexpr int mostOfTree = 36, mostOfTable = 16;

template <class View>
void fitColumn(View& view, int column, int mostCharacters) {
  view.resizeColumnToContents(column);
  const int most = mostCharacters * view.fontMetrics().averageCharWidth();
  view.setColumnWidth(column, std::min(view.columnWidth(column), most));
}

QString factsText(const HardwareProfile& profile) {
  QStringList lines;
  lines << (profile.cpu.name.empty()
                ? processorText(profile.cpu)
                : HardwarePage::tr("%1: %2").arg(toQt(profile.cpu.name), processorText(profile.cpu)));
  if (const QString allowance = allowanceText(profile.cpu); !allowance.isEmpty()) lines << allowance;
  const MemoryFacts& memory = profile.memory;
  QString text = HardwarePage::tr("Host memory: %1, of which %2 can be taken now")
                     .arg(bytesText(memory.total), bytesText(memory.usable));
  if (memory.groupLimit)
    text += HardwarePage::tr("; limited to %1 by %2").arg(bytesText(*memory.groupLimit), toQt(memory.groupLimitSource));
  lines << text;
  if (profile.nvidia.gpus.empty())
    lines << HardwarePage::tr("No NVIDIA GPU: the CPU computes, and a part of host memory stands in for a device's");
  const QString driver = profile.nvidia.driverVersion.empty()
                             ? QString()
                             : HardwarePage::tr(", NVIDIA driver %1").arg(toQt(profile.nvidia.driverVersion));
  lines << HardwarePage::tr("Linux %1%2%3")
               .arg(toQt(profile.kernel), profile.wsl ? HardwarePage::tr(" under Windows") : QString(), driver);
  return lines.join(u'\n');
}

QLabel* makeText(const QString& name) {
  auto* label = new QLabel;
  label->setObjectName(name);
  label->setWordWrap(true);
  label->setTextFormat(Qt::PlainText);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  return label;
}

} // namespace

HardwarePage::HardwarePage(MachineFunction lookFunction, LoadSource load, LiveRunsFunction runs, QWidget* parent)
    : QWidget(parent),
      m_lookFunction(std::move(lookFunction)),
      m_runsFunction(std::move(runs)),
      m_meter(std::move(load)),
      m_name(new ElidedLabel),
      m_again(new QPushButton(icon(QStringLiteral("reload")), tr("Look &again"))),
      m_facts(makeText(QStringLiteral("machineFacts"))),
      m_notices(new StatusLine),
      m_board(new MeterBoard),
      m_measure(new MeasurePanel),
      m_topology(new TopologyModel(this)),
      m_rates(new RateModel(this)),
      m_tree(new QTreeView),
      m_table(new QTableView),
      m_ratesSummary(makeText(QStringLiteral("ratesSummary"))),
      m_splitter(new QSplitter(Qt::Horizontal)) {
  QFont large = font();
  large.setPointSizeF(large.pointSizeF() * 1.3);
  large.setBold(true);
  m_name->setFont(large);
  m_name->setObjectName(QStringLiteral("machineName"));
  m_name->setText(tr("This machine"));
  m_again->setObjectName(QStringLiteral("lookAgain"));
  m_again->setToolTip(tr("Look at the machine again: what is free, which programs are on its cards"));
  m_facts->setText(tr("The machine is being looked at…"));
  m_notices->setObjectName(QStringLiteral("machineNotices"));

  auto* top = new QHBoxLayout;
  top->addWidget(m_name, 1);
  top->addWidget(m_again);
  auto* now = new QGroupBox(tr("Now"));
  (new QVBoxLayout(now))->addWidget(m_board);
  auto* measure = new QGroupBox(tr("Measuring"));
  (new QVBoxLayout(measure))->addWidget(m_measure);

  auto* page = new QWidget;
  auto* layout = new QVBoxLayout(page);
  layout->addLayout(top);
  layout->addWidget(m_facts);
  layout->addWidget(m_notices);
  layout->addWidget(now);
  layout->addWidget(measure);
  layout->addWidget(makeTables(), 1);
  auto* outer = new QVBoxLayout(this);
  outer->setContentsMargins(0, 0, 0, 0);
  outer->addWidget(new PageArea(page));

  connect(m_again, &QPushButton::clicked, this, &HardwarePage::look);
  connect(&m_meter, &MachineMeter::looked, m_board, &MeterBoard::showLoad);
  connect(m_topology, &QAbstractItemModel::modelReset, this, [this] {
    m_tree->expandAll();
    fitColumn(*m_tree, TopologyModel::Name, mostOfTree);
  });
  connect(m_measure, &MeasurePanel::measured, this, [this] {
    look();
    Q_EMIT measured();
  });
}

QWidget* HardwarePage::makeTables() {
  m_tree->setObjectName(QStringLiteral("topologyTree"));
  m_tree->setAccessibleName(tr("Topology of the machine"));
  m_tree->setModel(m_topology);
  m_tree->setUniformRowHeights(true);
  m_tree->setTextElideMode(Qt::ElideRight);
  m_tree->header()->setStretchLastSection(true);
  m_table->setObjectName(QStringLiteral("rateTable"));
  m_table->setAccessibleName(tr("Rates that plans are predicted from"));
  m_table->setModel(m_rates);
  m_table->setSelectionBehavior(QAbstractItemView::SelectRows);
  m_table->setShowGrid(false);
  m_table->setWordWrap(false); // else what is too long is cut at a word, not where the room ends
  m_table->setTabKeyNavigation(false);
  m_table->setTextElideMode(Qt::ElideRight);
  m_table->verticalHeader()->hide();
  m_table->verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 6);
  m_table->horizontalHeader()->setStretchLastSection(true);
  m_table->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
  m_table->horizontalHeader()->setHighlightSections(false);
  for (QWidget* view : std::initializer_list<QWidget*>{m_tree, m_table})
    view->setMinimumHeight(leastLines * (fontMetrics().height() + 6));

  auto* topology = new QGroupBox(tr("Topology"));
  (new QVBoxLayout(topology))->addWidget(m_tree);
  auto* rates = new QGroupBox(tr("Rates"));
  auto* column = new QVBoxLayout(rates);
  column->addWidget(m_ratesSummary);
  column->addWidget(m_table, 1);
  m_splitter->addWidget(topology);
  m_splitter->addWidget(rates);
  m_splitter->setStretchFactor(0, 4);
  m_splitter->setStretchFactor(1, 5);
  m_splitter->setChildrenCollapsible(false);
  return m_splitter;
}

void HardwarePage::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  const Qt::Orientation orientation = width() < besideWidth ? Qt::Vertical : Qt::Horizontal;
  if (orientation == m_splitter->orientation()) return;
  m_splitter->setOrientation(orientation);
  m_splitter->setSizes({4000, 5000}); // shares of what there is
}

void HardwarePage::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  look();
  m_meter.start(m_board->gpus());
}

void HardwarePage::hideEvent(QHideEvent* event) {
  QWidget::hideEvent(event);
  m_meter.stop();
}

void HardwarePage::look() {
  m_again->setEnabled(false);
  inBackground(
      this, [look = m_lookFunction, directories = m_directories] { return look(directories); },
      [this, number = ++m_looks](const MachineLook& found) {
        if (number == m_looks) showLook(found);
      });
  inBackground(this, m_runsFunction, [this](const std::vector<LiveRun>& runs) { m_measure->setLiveRuns(runs); });
}

void HardwarePage::showLook(const MachineLook& look) {
  m_again->setEnabled(true);
  const bool first = !m_look;
  m_look = look;
  const HardwareProfile& profile = look.profile;
  m_name->setText(profile.host.empty() ? tr("This machine") : toQt(profile.host));
  m_facts->setText(factsText(profile));
  QStringList notices;
  for (const std::string& notice : look.notices) notices << toQt(notice);
  m_notices->tell(notices.join(u'\n'), StatusKind::Warning);
  const std::vector<std::string> before = m_board->gpus();
  m_board->setProfile(profile);
  if (isVisible() && m_board->gpus() != before) m_meter.start(m_board->gpus());
  m_measure->setLook(look);
  m_topology->setTopology(look.topology, profile);
  m_rates->setProfile(profile);
  if (first) {
    fitColumn(*m_table, RateModel::Subject, mostOfTable);
    for (const int column : {RateModel::Figure, RateModel::Value}) m_table->resizeColumnToContents(column);
  }
  m_ratesSummary->setText(
      tr("%1 of %2 figures were measured on this machine.").arg(m_rates->measured()).arg(m_rates->rowCount()));
}

} // namespace millrace::ui
