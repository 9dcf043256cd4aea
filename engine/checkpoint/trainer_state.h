// Everything that a run needs besides its parameters to go on as if it had never stopped. Plain values with an exact
// JSON form, the state.json of a checkpoint.
#pragma once

#include "base/json_reader.h"
#include "data/batch.h"

#include <cstdint>
#include <optional>
#include <string>

namespace millrace {

struct TrainerState {
  std::int64_t step = 0;           ///< steps done, discarded ones included
  std::int64_t tokens = 0;         ///< tokens trained on so far
  DataCursor cursor;               ///< where the next batch begins
  std::int64_t optimizerSteps = 0; ///< AdamW updates applied: the t of the bias correction
  std::int64_t discardedSteps = 0;
  std::int64_t discardedInRow = 0;
  std::optional<double> bestValidationLoss;
  std::int64_t bestValidationStep = -1; ///< -1: never evaluated
  std::int64_t evaluationsWithoutImprovement = 0;
  std::int64_t evaluatedStep = -1;   ///< of the last evaluation, which is not made twice
  std::int64_t sampledStep = -1;     ///< of the last samples
  double elapsedSeconds = 0;         ///< of training, over all attempts
  std::optional<double> lossAverage; ///< smoothed, for display
  std::uint64_t seed = 0;
  std::uint64_t samplerState = 0; ///< Random::state() of the text sampler
  std::string configFingerprint;
  std::string dataFingerprint;

  bool operator==(const TrainerState&) const = default;
};

Json toJson(const TrainerState& state);
/// BadInput naming source and key when a key is missing, unknown or of another type.
Result<TrainerState> trainerStateFromJson(const Json& json, const std::string& source);

} // namespace millrace
