// Derivatives of float64 functions by central differences: what hand-written backward passes are held against.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace millrace::test {

/// The gradient with respect to x of the sum over j of weights[j] * f(x)[j]: the Jacobian of f, transposed, times
/// weights. f maps a vector to one as long as weights. The error is about step^2 from the difference and 1e-16 / step
/// from rounding.
template <class Function>
std::vector<double> numericalGradient(Function&& f, std::vector<double> x, const std::vector<double>& weights,
                                      double step = 1e-5) {
  const auto weighted = [&] {
    const std::vector<double> y = f(x);
    double sum = 0;
    for (std::size_t j = 0; j < y.size(); ++j) sum += weights[j] * y[j];
    return sum;
  };
  std::vector<double> gradient(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double value = x[i];
    x[i] = value + step;
    const double above = weighted();
    x[i] = value - step;
    const double below = weighted();
    x[i] = value;
    gradient[i] = (above - below) / (2 * step);
  }
  return gradient;
}

/// The largest |a[i] - b[i]|; infinity when the lengths differ or a difference is NaN.
inline double largestDifference(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return HUGE_VAL;
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(a[i] - b[i]);
    if (!(difference <= largest)) largest = std::isnan(difference) ? HUGE_VAL : difference;
  }
  return largest;
}

inline double largestMagnitude(const std::vector<double>& a) {
  double largest = 0;
  for (const double value : a) largest = std::max(largest, std::abs(value));
  return largest;
}

} // namespace millrace::test
