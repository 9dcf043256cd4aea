#include "bridge/plan_query.h"

#include "bridge/background.h"
#include "bridge/this_machine.h"
#include "engine/project_file.h"

#include <chrono>
#include <mutex>

namespace millrace::ui {

namespace {

/// The machine as it was a moment ago: edits follow each other faster than memory fills.
class MachineCache {
 public:
  HardwareProfile look(const std::vector<Path>& folders) {
    const std::lock_guard lock(m_mutex);
    const auto now = std::chrono::steady_clock::now();
    if (!m_profile || m_folders != folders || now - m_when > std::chrono::seconds(5)) {
      m_profile = inspectMachine(folders);
      m_folders = folders;
      m_when = now;
    }
    return *m_profile;
  }

 private:
  std::mutex m_mutex; ///< of everything below
  std::optional<HardwareProfile> m_profile;
  std::vector<Path> m_folders;
  std::chrono::steady_clock::time_point m_when;
};

} // namespace

PlanFunction planOnThisMachine() {
  return [cache = std::make_shared<MachineCache>()](const PlanQuestion& question, bool advice) -> Result<PlanReport> {
    MILLRACE_TRY(const Project project, parseProject(question.text, question.source, question.folder));
    LocalFileSystem files;
    PlanOptions options;
    options.advice = advice;
    return planProject(files, project, question.source, cache->look(foldersOf(project)), options);
  };
}

PlanQuery::PlanQuery(PlanFunction plan, QObject* parent) : QObject(parent), m_plan(std::move(plan)) {}

void PlanQuery::ask(PlanQuestion question) {
  m_question = std::move(question);
  ++m_number;
  m_open = true;
  m_advice.waiting.reset();
  m_quick.waiting = m_number;
  setBusy(true);
  start(false);
}

void PlanQuery::cancel() {
  ++m_number;
  m_open = false;
  m_quick.waiting.reset();
  m_advice.waiting.reset();
  setBusy(false);
}

void PlanQuery::start(bool advice) {
  Lane& lane = advice ? m_advice : m_quick;
  if (lane.running || !lane.waiting) return;
  lane.running = true;
  const quint64 number = *lane.waiting;
  lane.waiting.reset();
  inBackground(
      this, [plan = m_plan, question = m_question, advice] { return plan(question, advice); },
      [this, advice, number](const Result<PlanReport>& report) { finished(advice, number, report); });
}

void PlanQuery::finished(bool advice, quint64 number, const Result<PlanReport>& report) {
  (advice ? m_advice : m_quick).running = false;
  if (number == m_number && m_open) {
    m_open = report && !advice;
    if (m_open) m_advice.waiting = number;
    if (!m_open) setBusy(false);
    if (report)
      Q_EMIT answered(*report, advice);
    else
      Q_EMIT failed(report.error());
  }
  start(false); // what was asked meanwhile, perhaps by those who were just told
  start(true);
}

void PlanQuery::setBusy(bool busyNow) {
  if (m_busy == busyNow) return;
  m_busy = busyNow;
  Q_EMIT busy(m_busy);
}

} // namespace millrace::ui
