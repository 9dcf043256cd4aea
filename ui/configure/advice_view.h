// One piece of the planner's advice, with a button that applies it. GUI thread.
#pragma once

#include "engine/plan.h"

#include <QWidget>

namespace millrace::ui {

class AdviceView : public QWidget {
  Q_OBJECT
 public:
  AdviceView(const PlanReport& report, const PlanAdvice& advice, QWidget* parent);

 Q_SIGNALS:
  void applyRequested(const millrace::PlanAdvice& advice);
};

} // namespace millrace::ui
