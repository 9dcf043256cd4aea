// Everything between a project and the first step: tokenizer, data, plan, device, weights or checkpoint.
#pragma once

#include "base/json_reader.h"
#include "checkpoint/checkpoint_store.h"
#include "data/dataset.h"
#include "device/device.h"
#include "engine/project.h"
#include "engine/run.h"
#include "engine/run_event.h"
#include "hardware/gpu_monitor.h"
#include "model/model_spec.h"
#include "plan/step_time.h"
#include "run/run_directory.h"
#include "run/run_requests.h"
#include "run/state_drives.h"
#include "storage/disk_tier.h"
#include "train/trainer.h"

#include <functional>
#include <memory>
#include <optional>

namespace millrace {

/// What is checked before a run begins, on the caller's thread; cheap.
struct RunDescription {
  Project project;
  ModelSpec spec;
  std::vector<std::string> warnings;      ///< of the model's config
  std::optional<std::string> tokenizer;   ///< tokenizer.json, unless it is to be trained
  std::vector<CheckpointFile> companions; ///< of the model's folder, to go with its checkpoints
  /// The checkpoint that keeps them for a run that goes on; empty: they are where the project says.
  Path companionFolder;
  std::optional<BranchPoint> branch; ///< what it begins from; nothing: as the project says
};

Result<RunDescription> describeRun(FileSystem& files, const Project& project, const std::string& source);

/// Whether its data is there and its weights are the model's, of which nothing is read but tables that have to grow:
/// before a run gives way to it.
Status checkInputs(FileSystem& files, const RunDescription& description);

/// The project's data as engine/data reads it.
DataSpec dataSpecOf(const Project& project);
/// The same with the chat template that the run keeps.
DataSpec dataSpecOf(const RunDescription& description);

/// What run.json holds: the project as resolved, the model's config, and what carried it out.
Json runFileContents(const RunDescription& description);
/// From a run directory alone, but for a run that was ended before it had its tokenizer: that one begins anew.
Result<RunDescription> readRunDescription(FileSystem& files, const RunDirectory& directory);

/// A run ready for its next step; owner of all that the run's thread works with.
struct PreparedRun {
  std::string tokenizerText;
  std::string configText; ///< config.json of the model
  std::unique_ptr<Tokenizer> tokenizer;
  std::unique_ptr<ThreadPool> pool;
  std::optional<Dataset> dataset; ///< tokenizes with the two above
  bool dataTold = false;          ///< that all of it is tokenized
  std::unique_ptr<BatchSource> source;
  std::unique_ptr<ValidationReader> validation;
  MemoryPlan plan;
  StepTime time;   ///< of a step, as the plan predicts it
  StepRates rates; ///< that it is predicted from
  std::unique_ptr<Device> device;
  std::unique_ptr<DiskTier> disk; ///< null: nothing of the plan is on disk
  DriveRating drives;             ///< of those with state on them
  std::unique_ptr<Trainer> trainer;
  std::unique_ptr<GpuMonitor> gpuMonitor; ///< null: the CPU computes
  TrainerState state;                     ///< of the checkpoint, or of the beginning
};

/// Once all data is tokenized: tells what it is and what was wrong with it, the first time. BadInput when there is
/// nothing to learn from in it.
Status tellData(PreparedRun& run, Log& log);

/// Takes long: trains the tokenizer, tokenizes what the first step needs, allocates, loads. With resume the state is
/// that of the newest good checkpoint, and the beginning's when there is none yet. say: progress in words. Errors as
/// they come; Interrupted when requests say stop.
Result<PreparedRun> prepareRun(FileSystem& files, const RunDescription& description, const RunDirectory& directory,
                               CheckpointStore& checkpoints, bool resume, RunRequests& requests, Log& log,
                               const std::function<void(const std::string&)>& say);

} // namespace millrace
