// What a run directory tells of its run beyond how it stands: where it came from, how well it did, what it takes of the
// disk. And what may be changed of a run that has ended: its checkpoints can be deleted, people's notes be kept.
#pragma once

#include "engine/runs.h"

#include <optional>
#include <string>
#include <vector>

namespace millrace {

struct EvaluatedStep {
  std::int64_t step = 0;
  double loss = 0; ///< nats a token; may be NaN or infinite

  bool operator==(const EvaluatedStep&) const = default;
};

struct CheckpointSize {
  std::int64_t step = 0;
  Path path;
  Bytes bytes = 0;
};

struct RunDetails {
  RunInfo info;
  std::string project;         ///< its name; empty: not known
  std::string model;           ///< "llama, 7.6 B parameters"; empty: not known
  std::int64_t parameters = 0; ///< of the model; 0: not known
  double began = 0;            ///< seconds since 1970; 0: not known
  std::optional<EvaluatedStep> lastValidation;
  std::optional<EvaluatedStep> bestValidation;
  std::vector<CheckpointSize> checkpoints; ///< oldest first, damaged ones too
  std::int64_t bestCheckpoint = -1;        ///< step of the one with the lowest validation loss; -1: none is marked
};

/// Reads run.json and events.jsonl and looks at the checkpoints' files. What cannot be read tells nothing; BadInput
/// when there is no run.
Result<RunDetails> runDetails(FileSystem& files, const Path& run);

struct KeptCheckpoints {
  bool newest = false; ///< the newest that is good: it is read whole
  bool best = false;   ///< that with the lowest validation loss, where one is marked
};

struct DeletedCheckpoints {
  std::vector<std::int64_t> deleted; ///< their steps, rising, as are the next
  std::vector<std::int64_t> kept;
  Bytes freed = 0;
};

/// Deletes the checkpoints of a run, and what killed saves left of some; metrics, events, samples and the rest stay.
/// Without any an interrupted run can only begin anew. BadInput when a process works on the run, or where none of the
/// checkpoints is good and the newest is to be kept. After a failure some may be gone.
Result<DeletedCheckpoints> deleteCheckpoints(FileSystem& files, const Path& run, const KeptCheckpoints& keep);

/// What people wrote about a run: notes.json in its directory.
struct RunNotes {
  std::vector<std::string> tags; ///< without repetition
  std::string text;

  bool operator==(const RunNotes&) const = default;
};

/// A run without them has empty ones. BadInput where the file is damaged.
Result<RunNotes> readRunNotes(FileSystem& files, const Path& run);
/// Any process, whoever works on the run. BadInput when there is no run.
Status writeRunNotes(FileSystem& files, const Path& run, const RunNotes& notes);

} // namespace millrace
