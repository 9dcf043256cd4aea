// WorkbenchStyle: Fusion, with outlines of what can be typed in or ticked that are seen on every background (3:1): its
// own are made darker than the window, which on a dark one is nearly nothing. Lists and texts that have the focus show
// it at their frame, as there may be nothing in them to show it at.
#pragma once

#include <QProxyStyle>

namespace millrace::ui {

class WorkbenchStyle final : public QProxyStyle {
  Q_OBJECT

 public:
  WorkbenchStyle();

  void drawPrimitive(PrimitiveElement element, const QStyleOption* option, QPainter* painter,
                     const QWidget* widget) const override;
  void drawControl(ControlElement element, const QStyleOption* option, QPainter* painter,
                   const QWidget* widget) const override;
};

/// Of fields, check boxes and radio buttons.
QColor outlineColor(const QPalette& palette);

} // namespace millrace::ui
