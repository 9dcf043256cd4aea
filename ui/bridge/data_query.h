// Asks the engine whether the data of a project could be read. Owned by the page that shows the answer; GUI thread,
// looking at files on the pool's threads. One look at a time, and only the newest question is answered.
#pragma once

#include "bridge/plan_query.h"

namespace millrace::ui {

class DataQuery : public QObject {
  Q_OBJECT
 public:
  using QObject::QObject;

  /// Takes the place of an earlier question. The text must be a valid project.
  void ask(PlanQuestion question);
  /// Forgets the question: nothing is told of it.
  void cancel() { ask({}); }

 Q_SIGNALS:
  /// key: the field at fault. Both are empty when nothing is wrong.
  void answered(const QString& key, const QString& message);

 private:
  void look();

  PlanQuestion m_question; ///< without a text: nobody wants to know
  quint64 m_number = 0;    ///< of the newest question
  bool m_looking = false;
};

} // namespace millrace::ui
