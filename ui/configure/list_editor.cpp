#include "configure/list_editor.h"

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QListWidget>
#include <QPushButton>
#include <QScopedValueRollback>
#include <algorithm>

namespace millrace::ui {

namespace {

constexpr int visibleRows = 5;
constexpr int rowPadding = 4;

/// On one line.
QString lineOf(QString text) {
  return text.replace(u'\n', QStringLiteral(" \u21b5 "));
}

} // namespace

ListEditor::ListEditor(QWidget* parent)
    : QWidget(parent),
      m_list(new QListWidget(this)),
      m_addButton(new QPushButton(tr("A&dd..."), this)),
      m_removeButton(new QPushButton(tr("Re&move"), this)),
      m_upButton(new QPushButton(tr("&Up"), this)),
      m_downButton(new QPushButton(tr("Dow&n"), this)) {
  auto* buttons = new QVBoxLayout;
  for (QPushButton* button : {m_addButton, m_removeButton, m_upButton, m_downButton}) buttons->addWidget(button);
  buttons->addStretch();
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(m_list, 1);
  layout->addLayout(buttons);
  m_list->setTextElideMode(Qt::ElideMiddle);
  m_list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  m_list->setUniformItemSizes(true);
  m_list->setTabKeyNavigation(false);
  setFocusProxy(m_list);
  const int lineHeight = m_list->fontMetrics().height() + rowPadding;
  m_list->setFixedHeight(std::max(visibleRows * lineHeight + 2 * m_list->frameWidth(), buttons->sizeHint().height()));

  connect(m_addButton, &QPushButton::clicked, this, &ListEditor::addRequested);
  connect(m_removeButton, &QPushButton::clicked, this, &ListEditor::remove);
  connect(m_upButton, &QPushButton::clicked, this, [this] { move(-1); });
  connect(m_downButton, &QPushButton::clicked, this, [this] { move(1); });
  connect(m_list, &QListWidget::itemChanged, this, &ListEditor::itemChanged);
  connect(m_list, &QListWidget::currentRowChanged, this, [this](int row) {
    enableButtons();
    if (!m_showing) Q_EMIT currentChanged(row);
  });
  m_list->installEventFilter(this);
  enableButtons();
}

bool ListEditor::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() != QEvent::KeyPress || !static_cast<QKeyEvent*>(event)->matches(QKeySequence::Delete))
    return QWidget::eventFilter(watched, event);
  remove();
  return true;
}

void ListEditor::showItems(const QStringList& items) {
  if (items == m_items && m_list->count() == items.size()) return;
  m_items = items;
  show(std::clamp<int>(m_list->currentRow(), items.isEmpty() ? -1 : 0, static_cast<int>(items.size()) - 1));
}

void ListEditor::show(int row) {
  {
    const QScopedValueRollback showing(m_showing, true);
    m_list->clear();
    for (const QString& text : m_items) {
      auto* item = new QListWidgetItem(lineOf(text), m_list);
      item->setToolTip(text);
      item->setSizeHint(QSize(1, m_list->fontMetrics().height() + rowPadding)); // as wide as the list: elided
      if (m_editable) item->setFlags(item->flags() | Qt::ItemIsEditable);
    }
    m_list->setCurrentRow(row);
  }
  enableButtons();
  Q_EMIT currentChanged(row);
}

int ListEditor::currentRow() const {
  return m_list->currentRow();
}

void ListEditor::setCurrentRow(int row) {
  m_list->setCurrentRow(row);
}

void ListEditor::setEditable(bool editable) {
  m_editable = editable;
  show(m_list->currentRow());
}

void ListEditor::describe(const QString& name, const QString& help) {
  m_list->setAccessibleName(name);
  m_list->setAccessibleDescription(help);
  m_addButton->setAccessibleName(tr("Add to %1").arg(name));
  m_removeButton->setAccessibleName(tr("Remove from %1").arg(name));
  m_upButton->setAccessibleName(tr("Move up in %1").arg(name));
  m_downButton->setAccessibleName(tr("Move down in %1").arg(name));
}

void ListEditor::replaceCurrent(const QString& text) {
  const int row = m_list->currentRow();
  if (row < 0 || m_items[row] == text) return;
  m_items[row] = text;
  {
    const QScopedValueRollback showing(m_showing, true);
    m_list->item(row)->setText(lineOf(text));
    m_list->item(row)->setToolTip(text);
  }
  Q_EMIT edited(m_items);
}

void ListEditor::append(const QStringList& items) {
  if (items.isEmpty()) return;
  m_items += items;
  show(static_cast<int>(m_items.size()) - 1);
  Q_EMIT edited(m_items);
}

void ListEditor::remove() {
  const int row = m_list->currentRow();
  if (row < 0) return;
  m_items.removeAt(row);
  show(std::min(row, static_cast<int>(m_items.size()) - 1));
  Q_EMIT edited(m_items);
}

void ListEditor::move(int by) {
  const int row = m_list->currentRow();
  if (row < 0 || row + by < 0 || row + by >= m_items.size()) return;
  m_items.swapItemsAt(row, row + by);
  show(row + by);
  Q_EMIT edited(m_items);
}

void ListEditor::itemChanged(QListWidgetItem* item) {
  const int row = m_list->row(item);
  if (m_showing || m_items[row] == item->text()) return;
  m_items[row] = item->text();
  item->setToolTip(item->text());
  Q_EMIT edited(m_items);
}

void ListEditor::enableButtons() {
  const int row = m_list->currentRow();
  m_removeButton->setEnabled(row >= 0);
  m_upButton->setEnabled(row > 0);
  m_downButton->setEnabled(row >= 0 && row + 1 < m_list->count());
}

} // namespace millrace::ui
