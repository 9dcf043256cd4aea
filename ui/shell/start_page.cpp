#include "shell/start_page.h"

#include "shell/can_i_train.h"
#include "shell/templates.h"
#include "style/elided_label.h"
#include "style/icons.h"
#include "style/numbers.h"

#include <QDateTime>
#include <QGridLayout>
#include <QGroupBox>
#include <QLabel>
#include <QListWidget>
#include <QLocale>
#include <QPushButton>
#include <QScrollArea>
#include <QVBoxLayout>

namespace millrace::ui {

namespace {

/// What lists of places hold.
constexpr int PlaceRole = Qt::UserRole;

/// Width from which there are two columns.
constexpr int twoColumnsWidth = 860;

void fill(QListWidget* list, const std::vector<NamedPlace>& places, const QString& iconName, const QString& nothing) {
  list->clear();
  for (const auto& [name, place] : places) {
    auto* item = new QListWidgetItem(icon(iconName), name + QStringLiteral("  –  ") + place);
    item->setData(PlaceRole, place);
    item->setToolTip(place);
    list->addItem(item);
  }
  if (!places.empty()) return;
  auto* item = new QListWidgetItem(nothing);
  item->setFlags(Qt::NoItemFlags);
  list->addItem(item);
}

} // namespace

StartPage::StartPage(QWidget* parent)
    : QWidget(parent),
      m_projects(makeList(QStringLiteral("recentProjects"), tr("Recent projects"))),
      m_runs(makeList(QStringLiteral("recentRuns"), tr("Recent runs"))),
      m_interruptedBox(new QGroupBox(tr("Runs that stand still before their end"))),
      m_interrupted(new QVBoxLayout(m_interruptedBox)) {
  auto* content = new QWidget;
  m_grid = new QGridLayout(content);
  QGridLayout* const layout = m_grid;
  layout->setContentsMargins(24, 16, 24, 16);
  layout->setVerticalSpacing(16);

  auto* title = new QLabel(tr("Millrace"));
  QFont large = font();
  large.setPointSizeF(large.pointSizeF() * 1.8);
  large.setBold(true);
  title->setFont(large);
  auto* subtitle = new QLabel(tr("Trains language models larger than the memory of the device that computes, at full "
                                 "precision, on one machine."));
  subtitle->setWordWrap(true);

  m_beginnings = makeBeginnings();
  m_projectBox = new QGroupBox(tr("Recent projects"));
  (new QVBoxLayout(m_projectBox))->addWidget(m_projects);
  m_runBox = new QGroupBox(tr("Recent runs"));
  (new QVBoxLayout(m_runBox))->addWidget(m_runs);

  auto* question = new CanITrain;
  m_question = question;
  connect(question, &CanITrain::projectRequested, this, &StartPage::projectRequested);

  layout->addWidget(title, 0, 0, 1, 2);
  layout->addWidget(subtitle, 1, 0, 1, 2);
  layout->addWidget(m_interruptedBox, 2, 0, 1, 2);
  arrange(2);
  m_interruptedBox->hide();

  auto* scroll = new QScrollArea;
  scroll->setWidget(content);
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setFocusPolicy(Qt::NoFocus); // what is on the page has it
  auto* outer = new QVBoxLayout(this);
  outer->setContentsMargins(0, 0, 0, 0);
  outer->addWidget(scroll);

  connect(m_projects, &QListWidget::itemActivated, this,
          [this](const QListWidgetItem* item) { Q_EMIT openProjectRequested(item->data(PlaceRole).toString()); });
  connect(m_runs, &QListWidget::itemActivated, this,
          [this](const QListWidgetItem* item) { Q_EMIT openRunRequested(item->data(PlaceRole).toString()); });
  setRecentProjects({});
  setRecentRuns({});
}

void StartPage::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  arrange(width() < twoColumnsWidth ? 1 : 2);
}

void StartPage::arrange(int columns) {
  if (columns == m_columns) return;
  m_columns = columns;
  for (QWidget* box : {m_beginnings, m_question, m_projectBox, m_runBox}) m_grid->removeWidget(box);
  m_grid->addWidget(m_beginnings, 3, 0);
  m_grid->addWidget(m_projectBox, 4, 0);
  m_grid->addWidget(m_runBox, 5, 0);
  if (columns == 2)
    m_grid->addWidget(m_question, 3, 1, 4, 1, Qt::AlignTop);
  else
    m_grid->addWidget(m_question, 6, 0);
  m_grid->setHorizontalSpacing(columns == 2 ? 24 : 0);
  m_grid->setColumnStretch(0, 1);
  m_grid->setColumnStretch(1, columns - 1);
  m_grid->setRowStretch(columns == 2 ? 6 : 7, 1);
  m_grid->setRowStretch(columns == 2 ? 7 : 6, 0);
}

QListWidget* StartPage::makeList(const QString& name, const QString& accessibleName) {
  auto* list = new QListWidget;
  list->setObjectName(name);
  list->setAccessibleName(accessibleName);
  list->setTextElideMode(Qt::ElideMiddle);
  list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  list->setMinimumHeight(fontMetrics().height() * 5);
  list->setMaximumHeight(fontMetrics().height() * 12);
  return list;
}

QWidget* StartPage::makeBeginnings() {
  auto* box = new QGroupBox(tr("Begin"));
  auto* layout = new QVBoxLayout(box);
  for (const ProjectTemplate& entry : projectTemplates()) {
    auto* button = new QPushButton(icon(QStringLiteral("configure")), tr("New: &%1").arg(entry.title));
    button->setToolTip(entry.description);
    button->setObjectName(QStringLiteral("template-") + entry.name);
    connect(button, &QPushButton::clicked, this,
            [this, resource = entry.resource] { Q_EMIT templateRequested(resource); });
    auto* description = new QLabel(entry.description);
    description->setWordWrap(true);
    description->setForegroundRole(QPalette::PlaceholderText);
    layout->addWidget(button);
    layout->addWidget(description);
  }
  const auto add = [&](const QString& text, const QString& iconName, const QString& name, auto&& clicked) {
    auto* button = new QPushButton(icon(iconName), text);
    button->setObjectName(name);
    connect(button, &QPushButton::clicked, this, clicked);
    layout->addWidget(button);
  };
  add(tr("&Open a project…"), QStringLiteral("folder"), QStringLiteral("openProject"),
      [this] { Q_EMIT openProjectRequested({}); });
  add(tr("Open a r&un…"), QStringLiteral("chart"), QStringLiteral("openRun"), [this] { Q_EMIT openRunRequested({}); });
  add(tr("Follo&w a run on another machine…"), QStringLiteral("remote"), QStringLiteral("openRemote"),
      [this] { Q_EMIT openRemoteRequested(); });
  auto* hint = new QLabel(tr("A project file, a model folder or the folder of a run can also be dropped anywhere."));
  hint->setWordWrap(true);
  hint->setForegroundRole(QPalette::PlaceholderText);
  layout->addWidget(hint);
  return box;
}

void StartPage::setRecentProjects(const std::vector<NamedPlace>& projects) {
  fill(m_projects, projects, QStringLiteral("configure"), tr("Projects that you open are listed here."));
}

void StartPage::setRecentRuns(const QStringList& places) {
  std::vector<NamedPlace> named;
  for (const QString& place : places) named.push_back({runName(place), place});
  fill(m_runs, named, QStringLiteral("chart"), tr("Runs that you start or open are listed here."));
}

void StartPage::setInterrupted(const std::vector<InterruptedRun>& runs) {
  if (runs == m_interruptedRuns) return; // whoever is about to press a button finds it there
  m_interruptedRuns = runs;
  while (QLayoutItem* item = m_interrupted->takeAt(0)) {
    delete item->widget();
    delete item;
  }
  for (const InterruptedRun& run : runs) {
    const bool first = &run == &runs.front(); // a letter is of one button
    auto* row = new QWidget;
    auto* layout = new QHBoxLayout(row);
    layout->setContentsMargins(0, 0, 0, 0);
    const QString when =
        run.changed > 0
            ? QLocale().toString(QDateTime::fromSecsSinceEpoch(static_cast<qint64>(run.changed)), QLocale::ShortFormat)
            : QString();
    auto* name = new ElidedLabel;
    name->setText(run.name);
    QFont bold = name->font();
    bold.setBold(true);
    name->setFont(bold);
    QStringList known;
    if (run.step > 0) known << tr("Step %1").arg(countText(run.step)); // its records may be lost
    if (!when.isEmpty()) known << when;
    auto* state = new QLabel;
    state->setTextFormat(Qt::PlainText);
    state->setWordWrap(true);
    state->setText(known.isEmpty() ? run.reason : tr("%1: %2").arg(known.join(QStringLiteral(", ")), run.reason));
    auto* text = new QVBoxLayout;
    text->setSpacing(0);
    text->addWidget(name);
    text->addWidget(state);
    auto* resume = new QPushButton(icon(QStringLiteral("play")), first ? tr("Re&sume") : tr("Resume"));
    resume->setObjectName(QStringLiteral("resumeInterrupted"));
    resume->setAccessibleName(tr("Resume %1").arg(run.name));
    auto* look = new QPushButton(icon(QStringLiteral("chart")), first ? tr("&Look") : tr("Look"));
    look->setAccessibleName(tr("Look at %1").arg(run.name));
    layout->addLayout(text, 1);
    layout->addWidget(resume);
    layout->addWidget(look);
    connect(resume, &QPushButton::clicked, this, [this, run] { Q_EMIT resumeRequested(run.directory); });
    connect(look, &QPushButton::clicked, this, [this, run] { Q_EMIT openRunRequested(run.directory); });
    m_interrupted->addWidget(row);
  }
  m_interruptedBox->setVisible(!runs.empty());
}

} // namespace millrace::ui
