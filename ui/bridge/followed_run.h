// FollowedRun: a run that another process of this machine carries out, or did: read from its directory as it grows, and
// steered through its control socket. Is it killed, it has ended, and is followed again once somebody goes on with it.
#pragma once

#include "bridge/event_box.h"
#include "bridge/run_feed.h"
#include "bridge/wake_up.h"
#include "engine/runs.h"

#include <QTimer>
#include <memory>
#include <thread>

namespace millrace::ui {

class FollowedRun final : public RunFeed {
  Q_OBJECT

 public:
  explicit FollowedRun(const std::filesystem::path& directory, QObject* parent = nullptr);
  /// The run goes on.
  ~FollowedRun() override;

  void open() override;
  void pause() override { request(RunRequest::Pause); }
  void resumeTraining() override { request(RunRequest::Resume); }
  void checkpointNow() override { request(RunRequest::Checkpoint); }
  void stop() override { request(RunRequest::Stop); }
  QString place() const override;
  bool hasFolder() const override { return m_hasFolder; }

 private:
  struct Reader; ///< what both threads share

  static void read(const std::shared_ptr<Reader>& reader, const std::filesystem::path& directory);
  void request(RunRequest request);
  void lookForFolder();
  void drain();

  const std::filesystem::path m_directory;
  const std::shared_ptr<Reader> m_reader;
  std::thread m_thread;
  bool m_hasFolder = true;
  QTimer m_look; ///< nothing tells when a folder is removed
};

} // namespace millrace::ui
