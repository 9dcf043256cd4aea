// QueuedRun: what waits in a queue to be trained: a project as it was lined up, or a run to go on with. A plain value
// with a JSON form; any thread.
#pragma once

#include "engine/run.h"

#include <QByteArray>
#include <QString>
#include <optional>
#include <vector>

namespace millrace::ui {

struct QueuedRun {
  enum class Kind { Project, Resume };
  enum class State {
    Waiting,
    Running, ///< this window trains it, or is about to
    Failed,  ///< it could not be started, or its run failed
  };

  qint64 id = 0; ///< of the queue that it is in
  Kind kind = Kind::Project;
  QString title = {};
  QByteArray project = {};                ///< its text; what is in the window then, saved or not
  QString folder = {};                    ///< what its relative paths are relative to
  QString source = {};                    ///< what messages call its file
  std::optional<BranchPoint> branch = {}; ///< what a project begins from, if anything
  QString run = {};                       ///< directory: to resume, or that it trains in
  State state = State::Waiting;
  QString message = {}; ///< why it failed

  bool operator==(const QueuedRun&) const = default;
};

/// A queue as it is kept over the end of a program.
struct KeptQueue {
  std::vector<QueuedRun> runs = {};
  bool stopsOnFailure = true;
};

QByteArray queueToJson(const KeptQueue& queue);
/// Nothing where it is no such text, with what is wrong in `problem`. What was running then is to be resumed, or begun
/// where it had no directory yet.
std::optional<KeptQueue> queueFromJson(const QByteArray& text, QString& problem);

} // namespace millrace::ui
