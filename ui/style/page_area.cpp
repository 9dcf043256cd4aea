#include "style/page_area.h"

#include <QEvent>
#include <QLayout>
#include <QScrollBar>

namespace millrace::ui {

PageArea::PageArea(QWidget* page, QWidget* parent) : QScrollArea(parent) {
  setFrameShape(QFrame::NoFrame);
  setFocusPolicy(Qt::NoFocus); // what is on the page has it
  setWidget(page);
  page->setAutoFillBackground(false);
  viewport()->setAutoFillBackground(false);
  page->installEventFilter(this);
}

void PageArea::resizeEvent(QResizeEvent* event) {
  QScrollArea::resizeEvent(event);
  fit();
}

bool PageArea::eventFilter(QObject* watched, QEvent* event) {
  if (watched == widget() && event->type() == QEvent::LayoutRequest) fit();
  return QScrollArea::eventFilter(watched, event);
}

void PageArea::fit() {
  QLayout* const layout = widget()->layout();
  const QSize room = maximumViewportSize();
  const auto least = [&](int width) {
    return layout->hasHeightForWidth() ? layout->minimumHeightForWidth(width) : layout->minimumSize().height();
  };
  const int narrowest = layout->minimumSize().width();
  QSize size(std::max(room.width(), narrowest), 0);
  // A bar that one direction needs takes room from the other.
  const int bar = verticalScrollBar()->sizeHint().width();
  const int height = room.height() - (narrowest > room.width() ? bar : 0);
  if (least(size.width()) > height) size.setWidth(std::max(room.width() - bar, narrowest));
  size.setHeight(std::max(height, least(size.width())));
  widget()->resize(size);
}

} // namespace millrace::ui
