#include "optim/adamw.h"

#include <cmath>

namespace millrace {

AdamWScalars adamWScalars(const AdamWHyperparameters& hyperparameters, double learningRate, std::int64_t step,
                          double clipFactor) {
  const AdamWHyperparameters& h = hyperparameters;
  const auto t = static_cast<double>(step);
  AdamWScalars scalars;
  scalars.beta1 = static_cast<float>(h.beta1);
  scalars.oneMinusBeta1 = static_cast<float>(1.0 - h.beta1);
  scalars.beta2 = static_cast<float>(h.beta2);
  scalars.oneMinusBeta2 = static_cast<float>(1.0 - h.beta2);
  scalars.epsilon = static_cast<float>(h.epsilon);
  scalars.stepSize = static_cast<float>(learningRate / (1.0 - std::pow(h.beta1, t)));
  scalars.inverseSqrtBias2 = static_cast<float>(1.0 / std::sqrt(1.0 - std::pow(h.beta2, t)));
  scalars.decayFactor = static_cast<float>(1.0 - learningRate * h.weightDecay);
  scalars.gradientScale = static_cast<float>(clipFactor);
  return scalars;
}

} // namespace millrace
