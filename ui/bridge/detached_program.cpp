#include "bridge/detached_program.h"

#include "bridge/background.h"
#include "bridge/child_signals.h"
#include "bridge/text.h"
#include "engine/runs.h"

#include <QCoreApplication>
#include <QFile>
#include <QFileInfo>
#include <QProcess>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <chrono>
#include <sys/syscall.h>
#include <unistd.h>

namespace millrace::ui {

namespace {
constexpr std::chrono::milliseconds lookAgain{200};
} // namespace

QString headlessProgram() {
  const QString beside = QCoreApplication::applicationDirPath() + QStringLiteral("/millrace");
  if (QFileInfo(beside).isExecutable()) return beside;
  return QStandardPaths::findExecutable(QStringLiteral("millrace"));
}

DetachedProgram::DetachedProgram(QString program, QStringList arguments, std::filesystem::path directory,
                                 QByteArray input, QObject* parent)
    : QObject(parent),
      m_program(std::move(program)),
      m_arguments(std::move(arguments)),
      m_directory(std::move(directory)),
      m_input(std::move(input)) {
  m_look.setInterval(lookAgain);
  connect(&m_look, &QTimer::timeout, this, &DetachedProgram::look);
}

DetachedProgram::~DetachedProgram() {
  m_end.reset();
  if (m_descriptor >= 0) ::close(m_descriptor);
}

void DetachedProgram::start() {
  m_runWasThere = QFile::exists(toQt(m_directory / "run.json"));
  // Files that both sides have open and that have lost their names once the program runs: nobody has to remove them,
  // however this process ends.
  const QTemporaryDir folder;
  const QString said = folder.filePath(QStringLiteral("said")), given = folder.filePath(QStringLiteral("given"));
  m_said.setFileName(said);
  QFile input(given);
  const bool made = m_said.open(QIODevice::ReadWrite) && input.open(QIODevice::WriteOnly) &&
                    input.write(m_input) == m_input.size() && input.flush();
  if (!made) {
    Q_EMIT failed(tr("%1 cannot be written: %2").arg(folder.path(), folder.errorString()));
    return;
  }
  QProcess process;
  process.setProgram(m_program);
  process.setArguments(m_arguments);
  withDefaultSignals(process);
  process.setStandardInputFile(given);
  process.setStandardOutputFile(QProcess::nullDevice());
  process.setStandardErrorFile(said);
  qint64 pid = 0;
  if (m_program.isEmpty() || !process.startDetached(&pid)) {
    Q_EMIT failed(m_program.isEmpty()
                      ? tr("the program millrace is neither beside this one nor on the PATH: install it, or start the "
                           "run in the window")
                      : tr("%1 cannot be started: %2").arg(m_program, process.errorString()));
    return;
  }
  m_descriptor = static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(pid), 0));
  if (m_descriptor >= 0) {
    m_end = std::make_unique<QSocketNotifier>(m_descriptor, QSocketNotifier::Read);
    connect(m_end.get(), &QSocketNotifier::activated, this, &DetachedProgram::ended);
  }
  m_look.start();
}

void DetachedProgram::look() {
  const auto live = [directory = m_directory] {
    LocalFileSystem files;
    const auto info = runInfo(files, directory);
    return info && info->outcome == RunOutcome::Live;
  };
  inBackground(this, live, [this](bool isLive) {
    if (!isLive || !m_look.isActive()) return;
    m_look.stop();
    m_end.reset();
    Q_EMIT running();
  });
}

void DetachedProgram::ended() {
  m_end.reset();
  if (!m_look.isActive()) return;
  m_look.stop();
  // A short run may have come and gone between two looks; there is something to follow all the same.
  if (!m_runWasThere && QFile::exists(toQt(m_directory / "run.json")))
    Q_EMIT running();
  else
    Q_EMIT failed(whatItSaid());
}

QString DetachedProgram::whatItSaid() const {
  m_said.seek(0);
  const QString text = toQt(m_said.read(64 << 10).trimmed().toStdString());
  return text.isEmpty() ? tr("%1 ended at once and said nothing").arg(m_program) : text;
}

} // namespace millrace::ui
