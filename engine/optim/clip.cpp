#include "optim/clip.h"

#include <algorithm>
#include <cmath>

namespace millrace {

double gradientNorm(std::span<const double> sumsOfSquares) {
  double total = 0;
  for (const double sum : sumsOfSquares) total += sum;
  return std::sqrt(total);
}

ClipDecision clipDecision(double norm, double maxNorm) {
  ClipDecision decision;
  decision.norm = norm;
  decision.finite = std::isfinite(norm);
  if (decision.finite && maxNorm > 0) decision.factor = std::min(1.0, maxNorm / (norm + 1e-6));
  return decision;
}

} // namespace millrace
