#include "style/workbench_style.h"

#include <QAbstractScrollArea>
#include <QPainter>
#include <QStyleFactory>
#include <QStyleOption>

namespace millrace::ui {

QColor outlineColor(const QPalette& palette) {
  // Between the text and what it stands on.
  const QColor text = palette.color(QPalette::WindowText), ground = palette.color(QPalette::Window);
  constexpr double share = 0.55;
  const auto mixed = [&](double a, double b) { return static_cast<float>(share * a + (1 - share) * b); };
  return QColor::fromRgbF(mixed(text.redF(), ground.redF()), mixed(text.greenF(), ground.greenF()),
                          mixed(text.blueF(), ground.blueF()));
}

WorkbenchStyle::WorkbenchStyle() : QProxyStyle(QStyleFactory::create(QStringLiteral("Fusion"))) {}

void WorkbenchStyle::drawPrimitive(PrimitiveElement element, const QStyleOption* option, QPainter* painter,
                                   const QWidget* widget) const {
  QProxyStyle::drawPrimitive(element, option, painter, widget);
  if (element == PE_Frame && widget && widget->hasFocus() && qobject_cast<const QAbstractScrollArea*>(widget)) {
    painter->save();
    painter->setBrush(Qt::NoBrush);
    painter->setPen(option->palette.color(QPalette::Highlight));
    painter->drawRect(option->rect.adjusted(0, 0, -1, -1));
    painter->restore();
    return;
  }
  const bool box = element == PE_IndicatorCheckBox || element == PE_IndicatorItemViewItemCheck;
  const bool radio = element == PE_IndicatorRadioButton;
  if (!box && !radio && element != PE_FrameLineEdit) return;
  // The focus has a colour of its own, which Fusion has drawn.
  if (element == PE_FrameLineEdit && option->state.testFlag(State_HasFocus)) return;
  painter->save();
  painter->setRenderHint(QPainter::Antialiasing);
  painter->setBrush(Qt::NoBrush);
  painter->setPen(outlineColor(option->palette));
  const QRectF frame = QRectF(option->rect).adjusted(0.5, 0.5, -0.5, -0.5);
  if (radio)
    painter->drawEllipse(frame);
  else
    painter->drawRoundedRect(frame, 2, 2);
  painter->restore();
}

void WorkbenchStyle::drawControl(ControlElement element, const QStyleOption* option, QPainter* painter,
                                 const QWidget* widget) const {
  if (element != CE_ToolBar) return QProxyStyle::drawControl(element, option, painter, widget);
  // Plain, with a line toward the page: Fusion's shading starts from white whatever the theme.
  painter->fillRect(option->rect, option->palette.color(QPalette::Window));
  painter->setPen(option->palette.color(QPalette::Window).darker(140));
  const QRect edge = option->rect;
  if (option->state.testFlag(State_Horizontal))
    painter->drawLine(edge.bottomLeft(), edge.bottomRight());
  else
    painter->drawLine(edge.topRight(), edge.bottomRight());
}

} // namespace millrace::ui
