// Asks the planner about a project text: at once without advice, then with advice, which takes seconds. Owned by the
// window; GUI thread, planning on the pool's threads. Only answers to the newest question are told.
#pragma once

#include "engine/plan.h"

#include <QObject>
#include <functional>
#include <memory>
#include <optional>

namespace millrace::ui {

struct PlanQuestion {
  std::string text;   ///< of the project
  std::string source; ///< the file's name, for messages
  std::filesystem::path folder;
  bool operator==(const PlanQuestion&) const = default;
};

/// Answers a question, with advice or without. Called on the pool's threads, two calls at once.
using PlanFunction = std::function<Result<PlanReport>(const PlanQuestion& question, bool advice)>;

/// Plans for this machine, which is looked at again when the last look is more than some seconds old.
PlanFunction planOnThisMachine();

class PlanQuery : public QObject {
  Q_OBJECT
 public:
  explicit PlanQuery(PlanFunction plan = planOnThisMachine(), QObject* parent = nullptr);

  /// Takes the place of an earlier question.
  void ask(PlanQuestion question);
  /// Forgets the question: nothing more is told.
  void cancel();
  bool isBusy() const { return m_busy; }

 Q_SIGNALS:
  /// Twice for a question: without advice, then with it (complete).
  void answered(const millrace::PlanReport& report, bool complete);
  void failed(const millrace::Error& error);
  /// Whether an answer is still to come.
  void busy(bool busy);

 private:
  /// One call of the planner at a time, with the newest question that waits for it.
  struct Lane {
    bool running = false;
    std::optional<quint64> waiting; ///< number of the question
  };

  void start(bool advice);
  void finished(bool advice, quint64 number, const Result<PlanReport>& report);
  void setBusy(bool busy);

  PlanFunction m_plan;
  PlanQuestion m_question;
  quint64 m_number = 0; ///< of the newest question
  bool m_open = false;  ///< it is not answered completely
  bool m_busy = false;
  Lane m_quick, m_advice;
};

} // namespace millrace::ui
