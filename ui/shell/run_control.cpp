#include "shell/run_control.h"

#include "bridge/background.h"
#include "bridge/detached_program.h"
#include "bridge/followed_run.h"
#include "bridge/in_process_run.h"
#include "bridge/text.h"
#include "bridge/this_machine.h"
#include "engine/branch.h"
#include "engine/data_check.h"
#include "engine/plan.h"
#include "engine/project_file.h"
#include "engine/runs.h"
#include "shell/places.h"
#include "train/run_session.h"

#include <QDateTime>
#include <QTemporaryDir>

namespace millrace::ui {

namespace {
constexpr Bytes largestWritten = 64 * MiB; // with all defaults and whole paths
} // namespace

/// A project that may be started, or why not.
struct RunControl::Checked {
  Project project;
  std::filesystem::path directory;
  QByteArray text; ///< of the project with nothing left to a default
  QString problem;
};

RunControl::RunControl(QString cacheFolder, QObject* parent)
    : QObject(parent), m_cacheFolder(std::move(cacheFolder)), m_headlessProgram(headlessProgram()) {}

RunControl::~RunControl() = default;

bool RunControl::hasRunHere() const {
  return m_session && m_session->feed().inProcess() && m_session->isLive();
}

void RunControl::setStarting(bool starting) {
  if (starting == m_starting) return;
  m_starting = starting;
  Q_EMIT startingChanged(starting);
}

bool RunControl::refusesAnotherRunHere() {
  if (!hasRunHere()) return false;
  Q_EMIT failed(tr("A run is at work"),
                tr("%1 trains in this window. Stop it first, or start the other one detached.").arg(m_session->name()));
  return true;
}

void RunControl::check(const std::string& text, const QString& folder, const QString& source,
                       const std::optional<BranchPoint>& branch, const QString& title,
                       std::function<void(Checked&)> then) {
  if (m_starting) return;
  setStarting(true);
  const auto work = [text, folder = toPath(folder), source = source.toStdString(), branch] {
    auto checked = std::make_shared<Checked>();
    LocalFileSystem files;
    const auto prepare = [&]() -> Status {
      MILLRACE_TRY(checked->project, parseProject(text, source, folder));
      if (branch) MILLRACE_CHECK(checkBranch(files, *branch, checked->project));
      PlanOptions quick;
      quick.advice = false;
      MILLRACE_TRY(const PlanReport plan,
                   planProject(files, checked->project, source, inspectMachine(foldersOf(checked->project)), quick));
      MILLRACE_CHECK(checkData(files, checked->project));
      if (!plan.fits()) return failure(ErrorKind::DoesNotFit, plan.reasons.front());
      MILLRACE_TRY(const Path runs, runsFolder());
      checked->directory =
          newRunDirectory(files, runs, checked->project, static_cast<double>(QDateTime::currentSecsSinceEpoch()));
      // What is in the window is what is run, saved or not; the run keeps it in its run.json.
      const QTemporaryDir place;
      const Path file = toPath(place.filePath(QStringLiteral("project.json")));
      MILLRACE_CHECK(writeProject(files, file, checked->project));
      MILLRACE_TRY(const std::string whole, readTextFile(files, file, largestWritten));
      checked->text = QByteArray::fromStdString(whole);
      return {};
    };
    if (const Status prepared = prepare(); !prepared)
      checked->problem = withoutSource(toQt(prepared.error().message), toQt(source));
    return checked;
  };
  inBackground(this, work, [this, title, then = std::move(then)](const std::shared_ptr<Checked>& checked) {
    setStarting(false);
    if (checked->problem.isEmpty())
      then(*checked);
    else
      Q_EMIT failed(title, checked->problem);
  });
}

void RunControl::start(const std::string& text, const QString& folder, const QString& source,
                       const std::optional<BranchPoint>& branch) {
  if (refusesAnotherRunHere()) return;
  check(text, folder, source, branch, tr("The run cannot be started"), [this, branch](Checked& checked) {
    show(std::make_unique<InProcessRun>(checked.project, checked.directory, branch), runName(toQt(checked.directory)));
  });
}

void RunControl::startDetached(const std::string& text, const QString& folder, const QString& source,
                               const std::optional<BranchPoint>& branch) {
  const QString title = tr("The run cannot be started");
  check(text, folder, source, branch, title, [this, title, branch](Checked& checked) {
    const QString directory = toQt(checked.directory);
    QStringList arguments{QStringLiteral("train"), QStringLiteral("/dev/stdin"), QStringLiteral("--run-dir"),
                          directory};
    if (branch)
      arguments << QStringLiteral("--branch") << toQt(branch->run) << QStringLiteral("--branch-step")
                << QString::number(branch->step);
    runProgram(arguments, checked.directory, checked.text, title, [this, directory] { follow(directory); });
  });
}

void RunControl::resumeHere(const QString& directory) {
  if (refusesAnotherRunHere()) return;
  show(std::make_unique<InProcessRun>(toPath(directory)), runName(directory));
}

void RunControl::resumeDetached(const QString& directory) {
  runProgram({QStringLiteral("resume"), directory}, toPath(directory), {}, tr("The run cannot be resumed"),
             [this, directory] { follow(directory); });
}

void RunControl::runProgram(const QStringList& arguments, const std::filesystem::path& directory,
                            const QByteArray& input, const QString& title, std::function<void()> then) {
  if (m_starting) return;
  setStarting(true);
  m_program = std::make_unique<DetachedProgram>(m_headlessProgram, arguments, directory, input);
  connect(m_program.get(), &DetachedProgram::running, this, [this, then = std::move(then)] {
    setStarting(false);
    then();
  });
  connect(m_program.get(), &DetachedProgram::failed, this, [this, title](const QString& message) {
    setStarting(false);
    Q_EMIT failed(title, message);
  });
  m_program->start();
}

void RunControl::openRun(const QString& place) {
  if (hasRunHere() && place != m_session->feed().place()) {
    Q_EMIT failed(tr("A run is at work"),
                  tr("%1 trains in this window, which shows one run. Stop it first, or open the other one in a second "
                     "window.")
                      .arg(m_session->name()));
    return;
  }
  if (!place.startsWith(QLatin1String("ssh://"))) return follow(place);
  QString problem;
  const auto remote = RemotePlace::parse(place, problem);
  if (!remote) {
    Q_EMIT failed(tr("The run cannot be opened"), problem);
    return;
  }
  show(std::make_unique<RemoteRun>(*remote, m_remotePrograms), runName(place));
}

void RunControl::follow(const QString& directory) {
  show(std::make_unique<FollowedRun>(toPath(directory)), runName(directory));
}

void RunControl::show(std::unique_ptr<RunFeed> feed, const QString& name) {
  auto session = std::make_unique<RunSession>(std::move(feed), name, m_cacheFolder);
  Q_EMIT sessionChanged(session.get());
  m_session.swap(session);
  m_session->open();
  // The one before ends here, once nobody shows it.
}

void RunControl::handOver() {
  if (!hasRunHere()) return;
  const QString directory = m_session->feed().place();
  RunSession* session = m_session.get();
  connect(session, &RunSession::stateChanged, this, [this, session, directory] {
    if (session->feed().link() != FeedLink::Ended) return;
    session->disconnect(this);
    if (session->state() == RunState::Finished) { // it was done before it could be handed over
      Q_EMIT handedOver();
      return;
    }
    if (session->state() == RunState::Failed) {
      Q_EMIT failed(tr("The run was not handed over"), session->stateReason());
      return;
    }
    runProgram({QStringLiteral("resume"), directory}, toPath(directory), {}, tr("The run was not handed over"),
               [this] { Q_EMIT handedOver(); });
  });
  session->stopAndSave();
}

} // namespace millrace::ui
