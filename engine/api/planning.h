// One question to the planner, with everything that stays the same while settings vary: the machine as it is planned
// for, and what of it computes. What the user says that a machine has stands in place of what it has and of what it has
// free, here as on a machine that a file describes, so that everything that is asked of the profile agrees. Owner of
// copies; one thread.
#pragma once

#include "engine/plan.h"
#include "model/model_spec.h"
#include "run/run_plan.h"

#include <optional>

namespace millrace {

/// What came of planning a project.
struct PlanOutcome {
  MemoryLimits limits;
  PlannedStep step; ///< where it does not fit, of the settings that need the least of what is too small
  Verdict verdict = Verdict::Fits;
  std::vector<std::string> reasons; ///< of another verdict than Fits
};

class Planning {
 public:
  /// The profile as the user gave it; rates are filled in here. source: the project's name in errors.
  static Result<Planning> create(FileSystem& files, const Project& project, const std::string& source,
                                 const HardwareProfile& profile, const PlanOptions& options);

  /// The machine with the disks that state may live on, and all rates.
  const HardwareProfile& profile() const { return m_profile; }
  const PlanTarget& target() const { return m_target; }
  /// What the driver is assumed to take of the device's memory before anything of ours; a run measures it.
  Bytes driverBytes() const;
  /// What the program takes of host memory besides what is planned.
  Bytes programBytes(const Project& project, const ModelSpec& spec) const;
  /// What this machine really has free, whatever it is planned for with.
  Bytes usableNow() const { return m_usableNow; }
  /// What a person should know of the measured rates; empty: nothing.
  const std::string& ratesNotice() const { return m_ratesNotice; }
  /// Where state may live, each drive once.
  std::vector<const DiskFacts*> stateDrives() const;
  /// Of the data's files, as far as they are there.
  Bytes dataBytes() const { return m_dataBytes; }
  /// Where checkpoints go; null: not known.
  const DiskFacts* checkpointDisk() const;
  /// Whether state on disk and checkpoints share a file system.
  bool checkpointsShareTheDrive() const;

  /// Errors: BadInput for sizes beyond counting.
  Result<PlanOutcome> plan(const Project& project, const ModelSpec& spec) const;
  /// Whether it fits at all: quicker.
  bool fits(const Project& project, const ModelSpec& spec) const;
  /// The same as if the machine had more RAM, and each disk more space; with nvme state may live there.
  Planning withMore(Bytes ram, Bytes disk, bool nvme) const;

 private:
  MemoryLimits limitsOf(const Project& project, const ModelSpec& spec) const;
  /// Why the checkpoints have no room; empty: they have, or nobody knows.
  std::string checkpointShortfall(const Project& project, const ModelSpec& spec, Bytes onDisk) const;

  HardwareProfile m_profile;
  PlanTarget m_target;
  std::optional<DiskFacts> m_checkpointDisk;
  std::optional<Bytes> m_residentBytes; ///< of this process, where this machine is planned for
  std::string m_ratesNotice;
  Bytes m_usableNow = 0;
  Bytes m_dataBytes = 0;
};

/// Whether a plan of the project for the machine is one for GPUs: what a run would compute on, or what is asked for.
bool computesOnGpu(const Project& project, const HardwareProfile& profile, int gpus);

} // namespace millrace
