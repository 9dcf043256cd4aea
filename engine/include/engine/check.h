// Checks of the engine against reference cases: the same model, data and hyperparameters computed by another program.
#pragma once

#include "base/file.h"
#include "base/result.h"
#include "engine/precision.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace millrace {

/// One number that was compared.
struct Comparison {
  std::string what; ///< "gradient of model.norm.weight: values"
  double error = 0; ///< relative, as the bound is
  double bound = 0;
  bool passed() const { return error <= bound; } ///< false for NaN
};

/// Where a case's state is.
enum class GoldenPlace {
  Host,    ///< all of it, streamed
  Device,  ///< all of it
  Disk,    ///< all of it
  Mixture, ///< a layer here and a layer there, and the moments of the head on disk
};

/// One way of running a case.
struct GoldenSetting {
  bool severalMicroBatches =
      false; ///< one a row (or, of a single row, two that share its targets) instead of one for all
  Recompute recompute = Recompute::Full;
  GoldenPlace place = GoldenPlace::Host;
  int threads = 2;
  std::string device = "cpu"; ///< "cpu" or "cuda:N"
  Path drive = {};            ///< a folder for what is on disk
  std::string name() const;
};

struct GoldenResult {
  std::string caseName;
  GoldenSetting setting;
  Bytes deviceLimit = 0; ///< the smallest that the planner accepts with two slots
  std::vector<Comparison> comparisons;
  /// Checksum of losses, norms and all parameters of the six steps, in bits: what must not depend on places.
  std::string bits;
  bool passed() const;
};

/// Runs one case folder (config.json, weights, expected.json) in fp32 under the smallest device limit: loss, logits,
/// every gradient (where they wait in memory), six optimizer steps, greedy decoding, and the packed row where there is
/// one. Errors: BadInput for a folder that is no such case; what opening the device gave.
Result<GoldenResult> checkGolden(FileSystem& files, const Path& folder, const GoldenSetting& setting);

/// The folder itself where it holds an expected.json, or those of its subfolders that do and hold a model; BadInput
/// when there is none.
Result<std::vector<Path>> goldenCases(FileSystem& files, const Path& folder);

/// Every recompute policy with one and with several micro-batches, streamed; all on the device without recomputing; and
/// with a drive, on disk and mixed.
std::vector<GoldenSetting> goldenSettings(const std::string& device = "cpu", const Path& drive = {});

} // namespace millrace
