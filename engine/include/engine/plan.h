// What a project's run would take of each memory tier, told before anything is allocated or any data is read.
#pragma once

#include "base/file.h"
#include "engine/hardware.h"
#include "engine/project.h"

#include <string>
#include <vector>

namespace millrace {

struct PlannedCategory {
  std::string name; ///< "kept activations"
  Bytes bytes = 0;
};

struct PlannedTier {
  std::string name; ///< "device", "host"
  Bytes needed = 0;
  Bytes limit = 0;
  std::string limitOrigin; ///< "memory.vram_limit", or how the default came about
  std::vector<PlannedCategory> categories;
  bool fits() const { return needed <= limit; }
};

/// The settings that the run would use where it fits, else those that need the least device memory.
struct PlanReport {
  std::string project;
  bool fits = false;
  std::string shortfall; ///< which tier is too small, how much it needs, what to change; empty when all fits
  std::int64_t parameters = 0;
  std::int64_t layers = 0;
  std::int64_t tokensPerStep = 0;
  std::int64_t microBatches = 0;
  Precision precision = Precision::Fp32;
  ClipMode clip = ClipMode::Exact;
  std::string recompute;  ///< "full", "selective", "none"
  std::int64_t group = 1; ///< micro-batches that visit a layer before the next layer's turn
  int slots = 2;
  bool offloadActivations = false;
  std::int64_t streamedUnits = 0; ///< layers and the head whose weights cross the bus twice a step
  std::int64_t weightsOnDeviceUnits = 0;
  std::int64_t onDeviceUnits = 0; ///< with their optimizer state
  std::vector<PlannedTier> tiers; ///< device, then host
};

/// Needs the model's config.json, neither weights nor data. source: the project file's name, for messages. Errors:
/// BadInput; a run that does not fit is no error here, but `fits` says so.
Result<PlanReport> planProject(FileSystem& files, const Project& project, const std::string& source,
                               const HardwareProfile& profile);

} // namespace millrace
