#include "train/log_panel.h"

#include "models/log_model.h"

#include <QAction>
#include <QClipboard>
#include <QComboBox>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QScrollBar>
#include <QTableView>
#include <QVBoxLayout>

namespace millrace::ui {

LogPanel::LogPanel(QWidget* parent) : QWidget(parent), m_view(new QTableView) {
  auto* level = new QComboBox;
  for (const Severity severity : {Severity::Debug, Severity::Info, Severity::Warning, Severity::Error})
    level->addItem(severity == Severity::Error ? tr("Errors") : tr("%1 and above").arg(severityName(severity)),
                   static_cast<int>(severity));
  level->setCurrentIndex(static_cast<int>(Severity::Info));
  level->setObjectName(QStringLiteral("logLevel"));
  auto* levelLabel = new QLabel(tr("Severit&y:"));
  levelLabel->setBuddy(level);
  auto* search = new QLineEdit;
  search->setPlaceholderText(tr("Text to look for"));
  search->setClearButtonEnabled(true);
  search->setObjectName(QStringLiteral("logSearch"));
  auto* searchLabel = new QLabel(tr("F&ind:"));
  searchLabel->setBuddy(search);

  m_view->setModel(&m_filter);
  m_view->setObjectName(QStringLiteral("logView"));
  m_view->setAccessibleName(tr("Log of the run"));
  m_view->setSelectionBehavior(QAbstractItemView::SelectRows);
  m_view->setWordWrap(false);
  m_view->setShowGrid(false);
  m_view->setAlternatingRowColors(true);
  m_view->setTabKeyNavigation(false);
  m_view->verticalHeader()->hide();
  m_view->verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 4);
  m_view->horizontalHeader()->setStretchLastSection(true);
  auto* copy = new QAction(tr("&Copy"), m_view);
  copy->setShortcut(QKeySequence::Copy);
  copy->setShortcutContext(Qt::WidgetShortcut);
  m_view->addAction(copy);
  m_view->setContextMenuPolicy(Qt::ActionsContextMenu);

  auto* bar = new QHBoxLayout;
  bar->addWidget(levelLabel);
  bar->addWidget(level);
  bar->addWidget(searchLabel);
  bar->addWidget(search, 1);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 6, 0, 0);
  layout->addLayout(bar);
  layout->addWidget(m_view, 1);

  connect(level, &QComboBox::currentIndexChanged, this,
          [this, level] { m_filter.setLeastSeverity(static_cast<Severity>(level->currentData().toInt())); });
  connect(search, &QLineEdit::textChanged, &m_filter, &LogFilter::setText);
  connect(copy, &QAction::triggered, this, &LogPanel::copySelected);
  // What the user scrolls to stays; what the model makes the view do is not the user's.
  connect(m_view->verticalScrollBar(), &QScrollBar::actionTriggered, this, [this] {
    const QScrollBar* scroll = m_view->verticalScrollBar();
    m_following = scroll->sliderPosition() >= scroll->maximum();
  });
  connect(&m_filter, &QAbstractItemModel::rowsInserted, this, [this] {
    if (m_following) m_view->scrollToBottom();
  });
}

void LogPanel::show(LogModel* model) {
  m_filter.setSourceModel(model);
  const QFontMetrics metrics = m_view->fontMetrics();
  m_view->setColumnWidth(LogModel::TimeColumn, metrics.horizontalAdvance(QStringLiteral("0000-00-00 00:00:00")) + 16);
  m_view->setColumnWidth(LogModel::LevelColumn, metrics.horizontalAdvance(severityName(Severity::Warning)) + 24);
  m_following = true;
  m_view->scrollToBottom();
}

void LogPanel::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  if (m_following) m_view->scrollToBottom();
}

void LogPanel::copySelected() const {
  QStringList lines;
  for (const QModelIndex& row : m_view->selectionModel()->selectedRows()) {
    QStringList cells;
    for (int column = 0; column < LogModel::ColumnCount; ++column)
      cells << row.siblingAtColumn(column).data().toString();
    lines << cells.join(u'\t');
  }
  QGuiApplication::clipboard()->setText(lines.join(u'\n'));
}

} // namespace millrace::ui
