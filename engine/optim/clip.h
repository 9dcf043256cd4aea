// Clipping by the global norm of all gradients. Pure functions, any thread.
#pragma once

#include <span>

namespace millrace {

/// The l2 norm of all gradients, from the sums of squares of their ranges, added in the order given: by block, and by
/// range inside a block. Not finite when any sum is not.
double gradientNorm(std::span<const double> sumsOfSquares);

struct ClipDecision {
  double norm = 0;    ///< before clipping
  double factor = 1;  ///< what every gradient is multiplied by
  bool finite = true; ///< false: the step must be discarded, and factor means nothing
};

/// As torch.nn.utils.clip_grad_norm_: factor = min(1, maxNorm / (norm + 1e-6)). maxNorm 0 or less: no clipping.
ClipDecision clipDecision(double norm, double maxNorm);

} // namespace millrace
