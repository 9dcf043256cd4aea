// What the window asks before something is lost, and what follows from the answers.
#include "configure/configure_page.h"
#include "configure/project_document.h"
#include "shell/main_window.h"
#include "shell/queue_runner.h"
#include "train/run_session.h"

#include <QMessageBox>
#include <QPushButton>

namespace millrace::ui {

void MainWindow::saveProject(std::function<void()> then) {
  if (then) {
    // Whichever comes first; an attempt that the user breaks off leaves nothing behind for a later save.
    delete m_afterSave;
    m_afterSave = new QObject(this);
    connect(m_document, &ProjectDocument::saved, m_afterSave, [this, then = std::move(then)] {
      m_afterSave->deleteLater();
      m_afterSave = nullptr;
      then();
    });
    connect(m_document, &ProjectDocument::saveFailed, m_afterSave, [this] { m_afterSave->deleteLater(); });
    connect(m_document, &ProjectDocument::changed, m_afterSave, [this] { m_afterSave->deleteLater(); });
  }
  m_configure->save();
}

void MainWindow::withSavedProject(std::function<void()> then) {
  if (!m_document->isDirty()) return then();
  if (m_question) return m_question->raise();
  auto* box = new QMessageBox(QMessageBox::Question, tr("Unsaved changes"),
                              tr("The project %1 has changes that are not saved.").arg(m_document->name()),
                              QMessageBox::Save | QMessageBox::Discard | QMessageBox::Cancel, this);
  box->setObjectName(QStringLiteral("unsavedQuestion"));
  box->button(QMessageBox::Save)->setText(tr("&Save"));
  box->button(QMessageBox::Discard)->setText(tr("&Discard"));
  box->button(QMessageBox::Cancel)->setText(tr("&Cancel"));
  box->setDefaultButton(QMessageBox::Save);
  box->setAttribute(Qt::WA_DeleteOnClose);
  m_question = box;
  connect(box, &QMessageBox::finished, this, [this, then = std::move(then)](int answer) {
    m_question = nullptr; // the next one may come at once
    if (answer == QMessageBox::Discard) then();
    if (answer == QMessageBox::Save) saveProject(then);
  });
  box->open();
}

void MainWindow::askAboutOpenProject(const QString& path, const ProjectHolder& holder) {
  auto* box = new QMessageBox(QMessageBox::Question, tr("The project is open elsewhere"),
                              tr("%1 is open in %2.").arg(path, holderText(holder)), QMessageBox::Cancel, this);
  box->setObjectName(QStringLiteral("openElsewhereQuestion"));
  box->setTextFormat(Qt::PlainText);
  box->setInformativeText(tr("Changes to it are made there. Here it can be looked at, trained from, and saved under "
                             "another name."));
  box->setAttribute(Qt::WA_DeleteOnClose);
  QPushButton* look = box->addButton(tr("Open &read-only"), QMessageBox::AcceptRole);
  look->setObjectName(QStringLiteral("openReadOnly"));
  QPushButton* another = box->addButton(tr("Open &another…"), QMessageBox::ActionRole);
  another->setObjectName(QStringLiteral("openAnother"));
  box->button(QMessageBox::Cancel)->setText(tr("&Cancel"));
  box->setDefaultButton(look);
  connect(look, &QPushButton::clicked, this,
          [this, path] { m_document->load(path, ProjectDocument::Access::ReadOnly); });
  connect(another, &QPushButton::clicked, this, &MainWindow::chooseProject);
  // Changes that were to be made to it are none to another one's.
  for (QAbstractButton* button : {static_cast<QAbstractButton*>(another), box->button(QMessageBox::Cancel)})
    connect(button, &QAbstractButton::clicked, this, [this] { m_settingsToApply.clear(); });
  box->open();
}

void MainWindow::askAboutRun() {
  if (m_question) return m_question->raise();
  auto* box =
      new QMessageBox(QMessageBox::Question, tr("A run is at work"),
                      tr("%1 trains in this window.").arg(m_runs->session()->name()), QMessageBox::Cancel, this);
  box->setObjectName(QStringLiteral("closeQuestion"));
  box->setInformativeText(
      tr("Stop it after a checkpoint, to be resumed later; or hand it over to a program of its own, "
         "which goes on from a checkpoint that is made now."));
  box->setAttribute(Qt::WA_DeleteOnClose);
  QPushButton* stop = box->addButton(tr("&Stop and save"), QMessageBox::AcceptRole);
  stop->setObjectName(QStringLiteral("closeStop"));
  QPushButton* handOver = box->addButton(tr("&Hand over"), QMessageBox::ActionRole);
  handOver->setObjectName(QStringLiteral("closeHandOver"));
  box->button(QMessageBox::Cancel)->setText(tr("&Cancel"));
  box->setDefaultButton(stop);
  m_question = box;
  connect(stop, &QPushButton::clicked, this, &MainWindow::stopAndClose);
  connect(handOver, &QPushButton::clicked, this, [this] {
    m_queueRunner->setClosing(true);
    m_runs->handOver();
  });
  connect(box, &QMessageBox::rejected, this, [this] { m_mayForget = false; });
  box->open();
}

void MainWindow::stopAndClose() {
  if (!m_runs->hasRunHere()) {
    m_mayClose = true;
    close();
    return;
  }
  connect(m_runs->session(), &RunSession::stateChanged, this, &MainWindow::closeWhenEnded, Qt::UniqueConnection);
  m_queueRunner->setClosing(true);
  m_runs->session()->stopAndSave();
}

void MainWindow::closeWhenEnded() {
  if (m_runs->hasRunHere()) return;
  const RunSession& session = *m_runs->session();
  if (session.state() == RunState::Failed) { // what was to be saved is not: nobody should miss that
    disconnect(m_runs->session(), &RunSession::stateChanged, this, &MainWindow::closeWhenEnded);
    m_queueRunner->setClosing(false);
    tell(tr("The run failed as it was stopped"), session.stateReason());
    return;
  }
  m_mayClose = true;
  close();
}

} // namespace millrace::ui
