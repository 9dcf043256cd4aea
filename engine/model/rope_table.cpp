#include "model/rope_table.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numbers>

namespace millrace {

namespace {

/// base^(2i/dim), each step rounded to fp32 as PyTorch does; the power itself is correctly rounded.
std::vector<float> wavelengths(double base, std::int64_t dim) {
  const auto base32 = static_cast<double>(static_cast<float>(base));
  std::vector<float> values(static_cast<std::size_t>(dim / 2));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float exponent = static_cast<float>(2 * i) / static_cast<float>(dim);
    values[i] = static_cast<float>(std::pow(base32, static_cast<double>(exponent)));
  }
  return values;
}

std::vector<float> defaultFrequencies(double base, std::int64_t dim) {
  std::vector<float> values = wavelengths(base, dim);
  for (float& value : values) value = 1.0f / value;
  return values;
}

void scaleLlama3(const RopeSpec& rope, std::vector<float>& frequencies) {
  const auto original = static_cast<double>(rope.originalMaxPositions);
  const auto lowWavelength = static_cast<float>(original / rope.lowFrequencyFactor);
  const auto highWavelength = static_cast<float>(original / rope.highFrequencyFactor);
  const auto factor = static_cast<float>(rope.factor);
  const auto low = static_cast<float>(rope.lowFrequencyFactor);
  const auto band = static_cast<float>(rope.highFrequencyFactor - rope.lowFrequencyFactor);
  for (float& frequency : frequencies) {
    const float wavelength = static_cast<float>(2.0 * std::numbers::pi) / frequency;
    if (wavelength > lowWavelength) {
      frequency /= factor;
    } else if (!(wavelength < highWavelength)) {
      const float smooth = (static_cast<float>(original) / wavelength - low) / band;
      frequency = (1.0f - smooth) * frequency / factor + smooth * frequency;
    }
  }
}

/// The index of the pair that turns `rotations` times within the original context.
double yarnPair(const RopeSpec& rope, double rotations, std::int64_t dim) {
  const double turns = static_cast<double>(rope.originalMaxPositions) / (rotations * 2.0 * std::numbers::pi);
  return static_cast<double>(dim) * std::log(turns) / (2.0 * std::log(rope.theta));
}

std::vector<float> yarnFrequencies(const RopeSpec& rope, std::int64_t dim) {
  double low = yarnPair(rope, rope.betaFast, dim);
  double high = yarnPair(rope, rope.betaSlow, dim);
  if (rope.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, static_cast<double>(dim - 1));
  if (low == high) high += 0.001;
  std::vector<float> values = wavelengths(rope.theta, dim);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float extrapolated = 1.0f / values[i];
    const float interpolated = 1.0f / (static_cast<float>(rope.factor) * values[i]);
    const float slope = (static_cast<float>(i) - static_cast<float>(low)) / static_cast<float>(high - low);
    const float kept = 1.0f - std::clamp(slope, 0.0f, 1.0f);
    values[i] = interpolated * (1.0f - kept) + extrapolated * kept;
  }
  return values;
}

} // namespace

std::int64_t rotaryDim(const RopeSpec& rope, std::int64_t headDim) {
  return static_cast<std::int64_t>(static_cast<double>(headDim) * rope.partialRotaryFactor) / 2 * 2;
}

Status checkPositions(const ModelSpec& spec, std::int64_t tokens) {
  if (tokens <= spec.maxPositions) return {};
  if (spec.learnedPositions)
    return badInput(
        fmt::format("{} tokens, but the model has {} learned positions: use at most that", tokens, spec.maxPositions));
  if (spec.rope && spec.rope->kind == RopeKind::LongRope)
    return badInput(
        fmt::format("{} tokens, more than {}: beyond that the frequencies of longrope depend on the length of "
                    "every sequence, which is not implemented; use at most that",
                    tokens, spec.maxPositions));
  if (spec.rope && spec.rope->kind == RopeKind::Dynamic)
    return badInput(
        fmt::format("{} tokens, more than max_position_embeddings, which is {}: there dynamic rotary scaling "
                    "depends on the length of every sequence, which is not implemented; use at most that",
                    tokens, spec.maxPositions));
  return {};
}

std::vector<float> ropeInverseFrequencies(const RopeSpec& rope, std::int64_t headDim, std::int64_t maxPositions,
                                          std::int64_t sequenceLength) {
  const std::int64_t dim = rotaryDim(rope, headDim);
  switch (rope.kind) {
  case RopeKind::Default:
    break;
  case RopeKind::Linear: {
    std::vector<float> values = defaultFrequencies(rope.theta, dim);
    for (float& value : values) value /= static_cast<float>(rope.factor);
    return values;
  }
  case RopeKind::Dynamic: {
    // In fp32 throughout, since the length is a tensor there by the time that it matters.
    const auto length = static_cast<float>(std::max(sequenceLength, maxPositions));
    const float growth = static_cast<float>(rope.factor) * length / static_cast<float>(maxPositions) -
                         static_cast<float>(rope.factor - 1.0);
    const auto power = static_cast<float>(static_cast<double>(dim) / static_cast<double>(dim - 2));
    const auto stretch = static_cast<float>(std::pow(static_cast<double>(growth), static_cast<double>(power)));
    return defaultFrequencies(static_cast<double>(static_cast<float>(rope.theta) * stretch), dim);
  }
  case RopeKind::Llama3: {
    std::vector<float> values = defaultFrequencies(rope.theta, dim);
    scaleLlama3(rope, values);
    return values;
  }
  case RopeKind::Yarn:
    return yarnFrequencies(rope, dim);
  case RopeKind::LongRope: {
    const bool beyond = sequenceLength > rope.originalMaxPositions;
    const std::vector<double>& factors = beyond ? rope.longFactors : rope.shortFactors;
    std::vector<float> values = wavelengths(rope.theta, dim);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = 1.0f / (static_cast<float>(factors[i]) * values[i]);
    return values;
  }
  }
  return defaultFrequencies(rope.theta, dim);
}

float ropeAttentionFactor(const RopeSpec& rope) {
  if (rope.kind != RopeKind::Yarn && rope.kind != RopeKind::LongRope) return 1.0f;
  if (rope.attentionFactor) return static_cast<float>(*rope.attentionFactor);
  if (rope.kind == RopeKind::LongRope)
    return rope.factor <= 1.0
               ? 1.0f
               : static_cast<float>(
                     std::sqrt(1 + std::log(rope.factor) / std::log(static_cast<double>(rope.originalMaxPositions))));
  const auto scale = [&](double weight) {
    return rope.factor <= 1.0 ? 1.0 : 0.1 * weight * std::log(rope.factor) + 1.0;
  };
  const double mscale = rope.mscale.value_or(0), mscaleAllDim = rope.mscaleAllDim.value_or(0);
  if (mscale != 0 && mscaleAllDim != 0) return static_cast<float>(scale(mscale) / scale(mscaleAllDim));
  return static_cast<float>(scale(1.0));
}

std::vector<float> ropeTable(const RopeSpec& rope, std::int64_t headDim, std::int64_t positions,
                             std::int64_t maxPositions, std::int64_t sequenceLength) {
  const std::vector<float> frequencies = ropeInverseFrequencies(rope, headDim, maxPositions, sequenceLength);
  const float factor = ropeAttentionFactor(rope);
  const std::size_t half = frequencies.size();
  std::vector<float> table(static_cast<std::size_t>(positions) * 2 * half);
  for (std::size_t p = 0; p < static_cast<std::size_t>(positions); ++p) {
    float* row = table.data() + p * 2 * half;
    for (std::size_t i = 0; i < half; ++i) {
      // The product is rounded to fp32 before the functions see it: that rounding is part of what models learnt with.
      const double angle = static_cast<double>(static_cast<float>(p) * frequencies[i]);
      row[i] = static_cast<float>(std::cos(angle)) * factor;
      row[half + i] = static_cast<float>(std::sin(angle)) * factor;
    }
  }
  return table;
}

} // namespace millrace
