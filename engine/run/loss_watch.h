// LossWatch: notices a loss that jumps out of its usual range. A spike is a fact for people: training goes on.
#pragma once

#include <cstdint>
#include <optional>

namespace millrace {

class LossWatch {
 public:
  /// Takes in a finite loss. When it is a spike: the mean that it stands above. Steps that follow a spike closely are
  /// the same spike and give nothing.
  std::optional<double> spikeAbove(double loss);

 private:
  double m_mean = 0;
  double m_deviation = 0; ///< mean absolute
  std::int64_t m_seen = 0;
  std::int64_t m_quietUntil = 0;
};

} // namespace millrace
