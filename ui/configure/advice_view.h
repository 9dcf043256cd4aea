// One piece of the planner's advice, with a button that applies it. GUI thread.
#pragma once

#include "engine/plan.h"

#include <QWidget>

class QPushButton;

namespace millrace::ui {

class AdviceView : public QWidget {
  Q_OBJECT
 public:
  AdviceView(const PlanReport& report, const PlanAdvice& advice, QWidget* parent);

  /// Lets Alt and a letter press its button, of one advice of those that are shown.
  void giveKey();

 Q_SIGNALS:
  void applyRequested(const millrace::PlanAdvice& advice);

 private:
  QPushButton* m_apply = nullptr; ///< none: the advice is for the machine
};

} // namespace millrace::ui
