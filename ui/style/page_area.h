// PageArea: a page that scrolls as a whole where the window is smaller than the least that its parts need; else it
// fills the window. (A QScrollArea that resizes its widget asks for what the parts would like to have instead, once one
// of them wraps its text.)
#pragma once

#include <QScrollArea>

namespace millrace::ui {

class PageArea final : public QScrollArea {
  Q_OBJECT

 public:
  /// page: has a layout; owned.
  explicit PageArea(QWidget* page, QWidget* parent = nullptr);

 protected:
  void resizeEvent(QResizeEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void fit();
};

} // namespace millrace::ui
