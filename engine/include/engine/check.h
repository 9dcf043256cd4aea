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

/// One way of running a case.
struct GoldenSetting {
  bool severalMicroBatches =
      false; ///< one a row (or, of a single row, two that share its targets) instead of one for all
  Recompute recompute = Recompute::Full;
  bool resident = false; ///< all state on the device; otherwise all on the host, streamed
  int threads = 2;
  std::string device = "cpu"; ///< "cpu" or "cuda:N"
  std::string name() const;
};

struct GoldenResult {
  std::string caseName;
  GoldenSetting setting;
  Bytes deviceLimit = 0; ///< the smallest that the planner accepts with two slots
  std::vector<Comparison> comparisons;
  bool passed() const;
};

/// Runs one case folder (config.json, weights, expected.json) in fp32 under the smallest device limit: loss, logits,
/// every gradient (where state is streamed), six optimizer steps, greedy decoding, and the packed row where there is
/// one. Errors: BadInput for a folder that is no such case; what opening the device gave.
Result<GoldenResult> checkGolden(FileSystem& files, const Path& folder, const GoldenSetting& setting);

/// The folder itself where it holds an expected.json, or those of its subfolders that do and hold a model; BadInput
/// when there is none.
Result<std::vector<Path>> goldenCases(FileSystem& files, const Path& folder);

/// Every recompute policy with one and with several micro-batches, streamed; and resident without recomputing.
std::vector<GoldenSetting> goldenSettings(const std::string& device = "cpu");

} // namespace millrace
