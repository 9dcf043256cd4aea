// InProcessRun: a run that this process carries out, on the engine's own threads.
#pragma once

#include "bridge/event_box.h"
#include "bridge/run_feed.h"
#include "bridge/wake_up.h"
#include "engine/run.h"

#include <functional>
#include <memory>
#include <optional>

namespace millrace::ui {

class InProcessRun final : public RunFeed {
  Q_OBJECT

 public:
  /// Starts a run of the project in the directory, once opened. A branch first tells the steps that led to it.
  InProcessRun(const Project& project, const std::filesystem::path& directory,
               const std::optional<BranchPoint>& branch = {}, QObject* parent = nullptr);
  /// Tells what the run in the directory has done so far, then goes on with it.
  explicit InProcessRun(const std::filesystem::path& directory, QObject* parent = nullptr);
  /// A run that is still at work is stopped and saved, on a thread of the pool: closing the window asks first.
  ~InProcessRun() override;

  void open() override;
  void pause() override;
  void resumeTraining() override;
  void checkpointNow() override;
  void stop() override;
  QString place() const override;
  bool inProcess() const override { return true; }
  bool hasFolder() const override { return m_hasFolder; }

 private:
  /// A run, what came before it, and the files that it works with as long as it lives.
  struct OpenRun {
    LocalFileSystem files;
    EventBox history;
    std::unique_ptr<Run> run;
    std::optional<Error> error;
    bool hasFolder = true;  ///< with an error
    bool resumable = false; ///< with an error
  };

  static void open(OpenRun& open, const std::optional<Project>& project, const std::optional<BranchPoint>& branch,
                   const std::filesystem::path& directory, const std::shared_ptr<WakeUp>& wakeUp);
  static Status tellHistory(OpenRun& open, const std::filesystem::path& directory, std::optional<std::int64_t> lastStep,
                            const std::shared_ptr<WakeUp>& wakeUp);
  void whenOpened();
  void drain();
  void letGo();
  Run* run() const { return m_opened ? m_open->run.get() : nullptr; }

  const std::optional<Project> m_project;
  const std::optional<BranchPoint> m_branch;
  const std::filesystem::path m_directory;
  const std::shared_ptr<WakeUp> m_wakeUp;
  std::shared_ptr<OpenRun> m_open;
  bool m_opened = false; ///< no thread of the pool works with m_open
  int m_stopsAsked = 0;  ///< before the run was there
  bool m_hasFolder = true;
};

} // namespace millrace::ui
