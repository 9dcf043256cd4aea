#include "model/initialization.h"

#include "base/random.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace millrace {

double initialDeviation(const ModelSpec& spec, const ParameterSpec& parameter) {
  if (parameter.shape.rank() < 2) return 0;
  if (spec.family == ModelFamily::Gpt2 && parameter.name.ends_with("c_proj.weight"))
    return spec.initializerRange / std::sqrt(2.0 * static_cast<double>(spec.layers.size()));
  return spec.initializerRange;
}

void initialValues(const ModelSpec& spec, const ParameterSpec& parameter, std::uint64_t seed, std::int64_t first,
                   std::span<float> destination) {
  assert(first >= 0 && first + static_cast<std::int64_t>(destination.size()) <= parameter.elements());
  if (parameter.shape.rank() < 2) {
    // Norms begin as multiplying by 1.
    const auto weight = static_cast<float>(1 - spec.normWeightOffset);
    std::fill(destination.begin(), destination.end(), parameter.name.ends_with("bias") ? 0.0f : weight);
    return;
  }
  const double deviation = initialDeviation(spec, parameter);
  Random random(seed, parameter.name);
  // Normals come in pairs from two draws: go to the pair that holds the first element, and past its first half if the
  // element is the second.
  random.skip(static_cast<std::uint64_t>(first) / 2 * 2);
  if (first % 2 != 0) (void)random.normal();
  for (float& value : destination) value = static_cast<float>(deviation * random.normal());
}

void initialBlockValues(const ModelSpec& spec, const BlockSpec& block, std::uint64_t seed, std::int64_t first,
                        std::span<float> destination) {
  std::fill(destination.begin(), destination.end(), 0.0f);
  for (const BlockPiece& piece : piecesOf(block, first, static_cast<std::int64_t>(destination.size())))
    initialValues(spec, *piece.parameter, seed, piece.first,
                  destination.subspan(static_cast<std::size_t>(piece.at), static_cast<std::size_t>(piece.count)));
}

} // namespace millrace
