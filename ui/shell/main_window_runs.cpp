// What the window does for its Runs page: runs opened, resumed, branched from, exported, lined up.
#include "bridge/background.h"
#include "bridge/text.h"
#include "configure/configure_page.h"
#include "configure/project_document.h"
#include "engine/branch.h"
#include "engine/runs.h"
#include "runs/run_history.h"
#include "runs/run_queue.h"
#include "runs/runs_page.h"
#include "shell/main_window.h"
#include "shell/places.h"
#include "shell/queue_runner.h"
#include "style/numbers.h"
#include "train/export_dialog.h"

#include <QFileDialog>
#include <QFileInfo>

namespace millrace::ui {

namespace {

/// The text of the project that a run was made with.
Result<std::string> projectTextOf(const Path& run) {
  LocalFileSystem files;
  const Path file = run / "run.json";
  MILLRACE_TRY(const std::string text, readTextFile(files, file, largestProject));
  MILLRACE_TRY(const Json contents, parseJson(text, file.string()));
  const auto project = contents.is_object() ? contents.find("project") : contents.end();
  if (project == contents.end() || !project->is_object())
    return failure(ErrorKind::BadInput, file.string() + ": has no project, expected the run.json of a run");
  return project->dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace

void MainWindow::connectRunsPage() {
  connect(m_runsPage, &RunsPage::openRequested, this, &MainWindow::openRun);
  connect(m_runsPage, &RunsPage::resumeRequested, this, [this](const QString& run) { m_runs->resumeHere(run); });
  connect(m_runsPage, &RunsPage::queueRequested, this, &MainWindow::queueResume);
  connect(m_runsPage, &RunsPage::queueProjectRequested, this, &MainWindow::chooseForQueue);
  connect(m_runsPage, &RunsPage::branchRequested, this, &MainWindow::branch);
  connect(m_runsPage, &RunsPage::exportRequested, this,
          [this](const QString& run) { (new ExportDialog(run, runName(run), this))->open(); });
  connect(m_runsPage, &RunsPage::configureRequested, this, [this] { showPage(Page::Configure); });
  connect(m_runsPage, &RunsPage::openRunRequested, this, &MainWindow::chooseRun);
  connect(m_configure, &ConfigurePage::beginningDropped, this, [this] { setBranch({}); });
  connect(m_document, &ProjectDocument::replaced, this, [this] { setBranch({}); });
  connect(m_queue, &RunQueue::changed, this, &MainWindow::updateActions);
  // Last: what else listens to the runs still sees whether the queue began them.
  m_queueRunner = new QueueRunner(*m_queue, *m_runs, this);
  m_queue->open();
}

void MainWindow::branch(const BranchPoint& from) {
  inBackground(
      this, [from] { return projectTextOf(from.run); },
      [this, from](const Result<std::string>& text) {
        if (!text) return tell(tr("The run cannot be branched from"), toQt(text.error().message));
        withSavedProject([this, from, text = *text] {
          m_document->startNew(text);
          setBranch(from);
          showPage(Page::Configure);
        });
      });
}

void MainWindow::setBranch(const std::optional<BranchPoint>& from) {
  m_branch = from;
  m_configure->setBeginning(
      from ? tr("Branches from %1 at step %2: model, tokenizer, data, context, precision and seed must stay as they "
                "are, and the run's length counts from the beginning of that run.")
                 .arg(runName(toQt(from->run)), countText(from->step))
           : QString());
}

void MainWindow::addToQueue() {
  m_document->lookAtFile([this] {
    if (m_document->isChangedOnDisk()) { // which of the two is meant is asked first
      showPage(Page::Configure);
      return m_configure->revealChange();
    }
    QueuedRun run;
    run.title = m_document->name();
    run.project = QByteArray::fromStdString(m_document->text());
    run.folder = m_document->folder();
    run.source = m_document->sourceName();
    run.branch = m_branch;
    m_queue->add(std::move(run));
    showPage(Page::Runs);
    m_runsPage->showQueue();
  });
}

void MainWindow::queueResume(const QString& run) {
  QueuedRun queued;
  queued.kind = QueuedRun::Kind::Resume;
  queued.title = runName(run);
  queued.run = run;
  m_queue->add(std::move(queued));
  m_runsPage->showQueue();
}

void MainWindow::chooseForQueue() {
  auto* dialog = new QFileDialog(this, tr("Add a project to the queue"), QFileInfo(m_document->filePath()).path(),
                                 tr("Projects (*.json);;All files (*)"));
  dialog->setFileMode(QFileDialog::ExistingFile);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  connect(dialog, &QFileDialog::fileSelected, this, [this](const QString& path) {
    const auto read = [path] {
      LocalFileSystem files;
      return readTextFile(files, toPath(path), largestProject);
    };
    inBackground(this, read, [this, path](const Result<std::string>& text) {
      if (!text) return tell(tr("The project cannot be lined up"), toQt(text.error().message));
      const QFileInfo file(path);
      QueuedRun run;
      run.title = file.completeBaseName();
      run.project = QByteArray::fromStdString(*text);
      run.folder = file.absolutePath();
      run.source = file.fileName();
      m_queue->add(std::move(run));
    });
  });
  dialog->open();
}

} // namespace millrace::ui
