// The answer to "does it fit, how fast will it go, what would make it better?", before anything is allocated or any
// data is read. Plain values; both functions may be called from any thread; advice takes seconds.
#pragma once

#include "base/file.h"
#include "engine/hardware.h"
#include "engine/project.h"
#include "engine/tier_budgets.h"

#include <optional>
#include <string>
#include <vector>

namespace millrace {

struct PlannedCategory {
  std::string name; ///< "kept activations"
  Bytes bytes = 0;
};

struct PlannedTier {
  std::string name; ///< "vram", "ram", "nvme"
  Bytes needed = 0;
  Bytes limit = 0;
  Bytes free = 0;                          ///< in the machine now, whatever the limit
  Bytes others = 0;                        ///< of the memory that other programs hold
  std::string limitOrigin;                 ///< "memory.vram_limit", or how the limit came about
  std::vector<PlannedCategory> categories; ///< that add up to `needed`
  bool fits() const { return needed <= limit; }
};

enum class Verdict {
  Fits,
  Tight, ///< with less than 5% to spare, or a drive would not last a year or the run
  DoesNotFit,
};
std::string_view toString(Verdict verdict);

/// Seconds of work that a step has for one resource, were it alone.
struct ResourceSeconds {
  std::string name; ///< "compute", "bus in", "bus out", "AdamW on the host", "disk read", "disk write"
  double seconds = 0;
};

struct PlannedTime {
  double stepSeconds = 0;  ///< as predicted
  double boundSeconds = 0; ///< no engine can be faster at these rates
  double tokensPerSecond = 0, low = 0, high = 0;
  bool measured = false;  ///< rates of this machine; else of data sheets and tables
  bool rehearsed = false; ///< a few layers of this model were timed here
  std::string bottleneck; ///< the resource that binds
  std::vector<ResourceSeconds> resources;
  double computeBindsFrom = 0; ///< tokens a step above which compute alone binds; 0: it never does
};

/// Units are the layers, and the head with the final norm. The embedding tables are in VRAM where the head's state is.
struct PlannedPlacement {
  std::string recompute;  ///< "full", "selective", "none"
  std::int64_t group = 1; ///< micro-batches that visit a layer before the next layer's turn
  int slots = 2;
  bool offloadActivations = false;
  std::int64_t streamed = 0;        ///< units whose weights cross the bus twice a step, state in RAM
  std::int64_t weightsOnDevice = 0; ///< weights in VRAM, state in RAM
  std::int64_t onDevice = 0;        ///< wholly in VRAM
  std::int64_t momentsOnDisk = 0;   ///< weights in RAM, the rest on NVMe
  std::int64_t onDisk = 0;          ///< wholly on NVMe
  std::int64_t held = 0;            ///< layers whose gradient waits for the next forward though clipping is off
  double updatedOnDevice = 0;       ///< share of the parameters in RAM that the GPU updates while it would wait
};

/// What the whole run comes to.
struct PlannedRun {
  double tokens = 0;           ///< to train on; 0: the project's length tells no number
  double seconds = 0;          ///< of training and checkpoints
  double checkpointPauses = 0; ///< seconds of these in which training stands still for checkpoints
  double kilowattHours = 0;    ///< 0: the machine's power is not known
  std::optional<double> cost;  ///< at the price given
  Bytes checkpointBytes = 0;
  double checkpointSeconds = 0;        ///< that training stands still for one
  Bytes checkpointDisk = 0;            ///< with all that are kept at one time
  std::optional<Bytes> checkpointFree; ///< where they go; absent: not known
  Bytes tokenCacheBytes = 0;           ///< about: four bytes for a token, and of text as many; 0: the data is not there
  Bytes writtenPerStep = 0;            ///< to tier files
  double writtenPerDay = 0;            ///< bytes of state and, where it is known to which drive, of checkpoints
  double wornPerDay = 0;               ///< of these what the drive takes that is worn out first
  Bytes endurance = 0;                 ///< what that drive is rated; 0: not known
  bool enduranceAssumed = false;
  double driveYears = 0; ///< until it is worn out; 0: nothing is written, or the endurance is not known
};

/// The largest of each that would still fit, all other settings kept; 0: none does.
struct PlannedLargest {
  std::int64_t context = 0;
  std::int64_t microBatch = 0;
  double parameters = 0;
};

struct ProjectChange {
  std::string key;   ///< "training.clip"
  std::string value; ///< as --set takes it
};

/// A change and what it brings, against the plan that it is advice to.
struct PlanAdvice {
  std::string text;                   ///< one sentence for people
  std::vector<ProjectChange> changes; ///< of the project
  Bytes addRam = 0, addDisk = 0;      ///< to the machine, besides
  Verdict verdict = Verdict::Fits;    ///< with it
  Bytes vram = 0, ram = 0, nvme = 0;  ///< differences; positive: more is needed
  double tokensPerSecond = 0;         ///< with it
  double tokensPerSecondMore = 0;     ///< difference
  double terabytesPerDay = 0;         ///< difference of what is written to drives
};

/// The settings that the run would use where it fits, else those that need the least device memory.
struct PlanReport {
  std::string project;
  std::string machine; ///< name of a machine that a file describes; empty: this one
  std::string device;  ///< "cpu", "NVIDIA H100 80GB HBM3"
  int gpus = 0;        ///< that would compute; 0: the CPU does
  Verdict verdict = Verdict::Fits;
  std::vector<std::string> reasons; ///< of a verdict that is not Fits: which tier, how much, what to change
  std::vector<std::string> notes;   ///< what this build cannot carry out yet, and other things to know
  std::int64_t parameters = 0;
  std::int64_t layers = 0;
  std::int64_t tokensPerStep = 0;
  std::int64_t microBatches = 0;
  Precision precision = Precision::Fp32;
  ClipMode clip = ClipMode::Exact;
  Bytes stateBytes = 0;     ///< weights and moments: 12 a parameter
  Bytes peakStateBytes = 0; ///< with gradients that wait for the clip factor: 16, 14 or 12
  PlannedPlacement placement;
  std::vector<PlannedTier> tiers; ///< vram, ram, nvme
  PlannedTime time;
  PlannedRun run;
  PlannedLargest largest;
  std::vector<PlanAdvice> advice; ///< best first
  bool fits() const { return verdict != Verdict::DoesNotFit; }
};

struct PlanOptions {
  /// What the machine has, this one as well as one that a file describes, all of it free and a reserve to be taken off:
  /// in place of what is there and of what is free. Each more than 0.
  TierOverrides budgets;
  int gpus = 0;      ///< 0: one, where there is one
  bool nvme = false; ///< state may live on disk even if the project names no directory; budgets.disk says how much
  Bytes endurance =
      0; ///< bytes that the drives of the state, else of checkpoints, may be written; 0: as the profile knows
  double tokens = 0; ///< to train on; 0: as the project says
  std::optional<double> pricePerKilowattHour;
  bool advice = true;    ///< and the largest sizes: they take many plans
  bool rehearse = false; ///< time a few layers of the model here: seconds, and far more exact than rates
};

/// Needs the model's config.json, neither weights nor data. source: the project file's name, for messages. The rates
/// of this machine's cache are used for this machine. Errors: BadInput; a run that does not fit is no error here, the
/// verdict says so.
Result<PlanReport> planProject(FileSystem& files, const Project& project, const std::string& source,
                               const HardwareProfile& profile, const PlanOptions& options = {});

/// A project for a model alone, to ask the planner about: no data; settings that somebody would begin with on a GPU
/// (bf16, 64 Ki tokens a step) or a CPU (fp32), for 20 tokens a parameter. Errors: BadInput of the model's config.
/// settings: "dotted.key=value" each, on top of that; relative paths in them are taken from the current folder.
Result<Project> projectOfModel(FileSystem& files, const std::string& name, const ModelSource& model, bool gpu,
                               const std::vector<std::string>& settings = {});
/// The same with what somebody would begin with on this machine or a described one: on a GPU where training.device,
/// auto unless the settings say otherwise, would take one. gpus: as in PlanOptions.
Result<Project> projectOfModel(FileSystem& files, const std::string& name, const ModelSource& model,
                               const HardwareProfile& machine, int gpus, const std::vector<std::string>& settings = {});

} // namespace millrace
