#include "engine/model_presets.h"

#include "model/config_import.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace millrace {

namespace {

/// A Llama's sizes. What is not free follows from width and size.
struct Sizes {
  std::int64_t vocabulary = 0, width = 0, layers = 0, inner = 0;
  std::int64_t headDim = 0, heads = 0, kvHeads = 0;
  bool tied = false;

  double embeddings() const { return static_cast<double>((tied ? 1 : 2) * vocabulary * width); }
  /// Of one layer without the matrices of its MLP.
  double attention() const { return static_cast<double>(2 * width + width * headDim * (2 * heads + 2 * kvHeads)); }
  double parameters() const {
    return embeddings() + static_cast<double>(width) +
           static_cast<double>(layers) * (attention() + static_cast<double>(3 * width * inner));
  }
};

/// Small models would be mostly embedding with a large vocabulary.
std::int64_t vocabularyFor(double parameters) {
  if (parameters < 4e6) return 4096;
  if (parameters < 4e7) return 8192;
  if (parameters < 1.5e8) return 16384;
  if (parameters < 3e9) return 32000;
  return 128256;
}

constexpr std::int64_t leastWidth = 64;
constexpr std::int64_t greatestWidth = 1 << 17;

/// Widths that models have: heads come in round numbers.
std::int64_t widthStep(std::int64_t width) {
  if (width < 512) return 64;
  if (width < 1024) return 128;
  if (width < 2048) return 256;
  if (width < 4096) return 512;
  if (width < 16384) return 1024;
  return 4096;
}

/// Fine enough that the count can be met, and a multiple of what matrix units like.
std::int64_t innerStep(std::int64_t width) {
  if (width < 512) return 8;
  if (width < 2048) return 32;
  return width < 8192 ? 128 : 256;
}

/// Width over layers: 32 in a model of 128, 64 in one of 768 (GPT-2), 128 from 4096 on (Llama).
double usualAspect(std::int64_t width) {
  return std::min(128.0, 32 * std::pow(static_cast<double>(width) / 128, 0.4));
}

std::int64_t groupsOf(std::int64_t heads) {
  std::int64_t groups = std::min<std::int64_t>(8, std::max<std::int64_t>(1, heads / 2));
  while (heads % groups != 0) --groups;
  return groups;
}

/// How far the shape is from what models of this size look like, and its count from what was asked.
double strangeness(const Sizes& sizes, double parameters) {
  const auto width = static_cast<double>(sizes.width);
  const double aspect = std::log(width / static_cast<double>(sizes.layers) / usualAspect(sizes.width));
  const double usualInner = parameters < 3e9 ? 8.0 / 3 : 3.5;
  const double inner = std::log(static_cast<double>(sizes.inner) / width / usualInner);
  const double error = 100 * (sizes.parameters() / parameters - 1);
  return aspect * aspect + 2 * inner * inner + 0.25 * error * error;
}

Sizes sizesFor(double parameters) {
  Sizes best;
  double least = std::numeric_limits<double>::infinity();
  Sizes sizes;
  sizes.vocabulary = vocabularyFor(parameters);
  sizes.tied = parameters < 3e9;
  for (sizes.width = leastWidth; sizes.width <= greatestWidth; sizes.width += widthStep(sizes.width)) {
    sizes.headDim = sizes.width < 2048 ? 64 : 128;
    sizes.heads = sizes.width / sizes.headDim;
    sizes.kvHeads = groupsOf(sizes.heads);
    const double usualLayers = static_cast<double>(sizes.width) / usualAspect(sizes.width);
    const auto fewest = std::max<std::int64_t>(2, std::llround(usualLayers / 2));
    const auto most = std::max<std::int64_t>(2, std::llround(usualLayers * 2));
    const std::int64_t step = innerStep(sizes.width);
    for (sizes.layers = fewest; sizes.layers <= most; ++sizes.layers) {
      const double forMlp =
          (parameters - sizes.embeddings() - static_cast<double>(sizes.width)) / static_cast<double>(sizes.layers) -
          sizes.attention();
      const double inner = forMlp / static_cast<double>(3 * sizes.width * step);
      if (!(inner >= 1 && inner < 1e6)) continue;
      sizes.inner = step * std::llround(inner);
      if (const double value = strangeness(sizes, parameters); value < least) {
        least = value;
        best = sizes;
      }
    }
  }
  return best;
}

} // namespace

Result<ModelConfig> modelOfSize(double parameters) {
  if (!(parameters >= leastModelSize && parameters <= greatestModelSize))
    return badInput(fmt::format("a model of {:.4g} parameters: expected between {:.0e} and {:.0e}", parameters,
                                leastModelSize, greatestModelSize));
  const Sizes sizes = sizesFor(parameters);
  ModelSpec spec;
  spec.family = ModelFamily::Llama;
  spec.vocabulary = sizes.vocabulary;
  spec.hidden = sizes.width;
  spec.maxPositions = parameters < 1e8 ? 2048 : 8192;
  spec.normEpsilon = 1e-5;
  spec.tiedEmbeddings = sizes.tied;
  spec.rope = RopeSpec{};
  if (parameters >= 1e8) spec.rope->theta = 500000;
  spec.attention.heads = sizes.heads;
  spec.attention.kvHeads = sizes.kvHeads;
  spec.attention.headDim = sizes.headDim;
  spec.mlp.inner = sizes.inner;
  spec.layers.resize(static_cast<std::size_t>(sizes.layers));
  return ModelConfig{{}, configFromModelSpec(spec, "float32").dump(2)};
}

} // namespace millrace
