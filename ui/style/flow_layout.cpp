#include "style/flow_layout.h"

#include <QStyle>
#include <QWidget>
#include <algorithm>

namespace millrace::ui {

FlowLayout::FlowLayout(QWidget* parent) : QLayout(parent) {
  setContentsMargins(0, 0, 0, 0);
  setSpacing(6);
}

FlowLayout::~FlowLayout() {
  qDeleteAll(m_items);
}

QLayoutItem* FlowLayout::takeAt(int index) {
  return index >= 0 && index < m_items.size() ? m_items.takeAt(index) : nullptr;
}

int FlowLayout::heightForWidth(int width) const {
  return place(QRect(0, 0, width, 0), false);
}

QSize FlowLayout::sizeHint() const {
  QSize size;
  for (const QLayoutItem* item : m_items) {
    if (item->isEmpty()) continue;
    const QSize hint = item->sizeHint();
    size =
        QSize(size.width() + hint.width() + (size.width() > 0 ? spacing() : 0), std::max(size.height(), hint.height()));
  }
  return size.grownBy(contentsMargins());
}

QSize FlowLayout::minimumSize() const {
  QSize size;
  for (const QLayoutItem* item : m_items)
    if (!item->isEmpty()) size = size.expandedTo(item->minimumSize());
  return size.grownBy(contentsMargins());
}

void FlowLayout::setGeometry(const QRect& area) {
  QLayout::setGeometry(area);
  place(area, true);
}

/// The height that it takes.
int FlowLayout::place(const QRect& area, bool move) const {
  const QRect inside = area.marginsRemoved(contentsMargins());
  int x = inside.left(), y = inside.top();
  QList<std::pair<QLayoutItem*, QRect>> line;
  int height = 0;
  const auto endLine = [&] {
    // In the middle of their line, as labels and buttons of different heights are read.
    for (const auto& [item, rect] : line)
      if (move) item->setGeometry(rect.translated(0, (height - rect.height()) / 2));
    line.clear();
  };
  for (QLayoutItem* item : m_items) {
    if (item->isEmpty()) continue;
    const QSize size(std::min(item->sizeHint().width(), std::max(inside.width(), item->minimumSize().width())),
                     item->sizeHint().height());
    if (x > inside.left() && x + size.width() > inside.left() + inside.width()) {
      endLine();
      x = inside.left();
      y += height + spacing();
      height = 0;
    }
    line.append({item, QRect(QPoint(x, y), size)});
    height = std::max(height, size.height());
    x += size.width() + spacing();
  }
  endLine();
  return y + height - area.top() + contentsMargins().bottom();
}

} // namespace millrace::ui
