// RunControl: which run the window shows, and how runs are begun: in this process, in a program of their own, by
// opening what is there. GUI thread; owned by the main window.
#pragma once

#include "bridge/remote_run.h"
#include "engine/project.h"
#include "engine/run.h"

#include <QObject>
#include <QString>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

namespace millrace::ui {

class DetachedProgram;
class RunFeed;
class RunSession;

class RunControl final : public QObject {
  Q_OBJECT

 public:
  /// cacheFolder: of the charts' points.
  explicit RunControl(QString cacheFolder, QObject* parent = nullptr);
  /// A run of this process is stopped and saved.
  ~RunControl() override;

  /// The programs that remote runs are followed with.
  void setRemotePrograms(RemotePrograms programs) { m_remotePrograms = std::move(programs); }
  /// The headless program; by default the one beside this.
  void setHeadlessProgram(const QString& program) { m_headlessProgram = program; }

  RunSession* session() const { return m_session.get(); }
  /// A run that would end with this process.
  bool hasRunHere() const;
  /// Something is being started: no other start is taken.
  bool isStarting() const { return m_starting; }

  /// text, folder, source: of the project, as parseProject() wants them. branch: what it begins from, if anything.
  void start(const std::string& text, const QString& folder, const QString& source,
             const std::optional<BranchPoint>& branch = {});
  void startDetached(const std::string& text, const QString& folder, const QString& source,
                     const std::optional<BranchPoint>& branch = {});
  /// Goes on with a run that has ended before its end.
  void resumeHere(const QString& directory);
  void resumeDetached(const QString& directory);
  /// A directory, a file of a run, or an ssh:// address.
  void openRun(const QString& place);

  /// The run of this process saves and stops, and a program of its own goes on with it. handedOver() or failed().
  void handOver();

 Q_SIGNALS:
  void sessionChanged(millrace::ui::RunSession* session);
  void startingChanged(bool starting);
  void handedOver();
  /// title: what did not work.
  void failed(const QString& title, const QString& message);

 private:
  struct Checked;

  void check(const std::string& text, const QString& folder, const QString& source,
             const std::optional<BranchPoint>& branch, const QString& title, std::function<void(Checked&)> then);
  void follow(const QString& directory);
  void show(std::unique_ptr<RunFeed> feed, const QString& name);
  bool refusesAnotherRunHere();
  void setStarting(bool starting);
  void runProgram(const QStringList& arguments, const std::filesystem::path& directory, const QByteArray& input,
                  const QString& title, std::function<void()> then);

  const QString m_cacheFolder;
  RemotePrograms m_remotePrograms;
  QString m_headlessProgram;
  std::unique_ptr<RunSession> m_session;
  std::unique_ptr<DetachedProgram> m_program;
  bool m_starting = false;
};

} // namespace millrace::ui
