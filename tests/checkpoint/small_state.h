// A training state in memory: three blocks with padding between some parameters, filled from a seed.
#pragma once

#include "base/random.h"
#include "checkpoint/shards.h"
#include "checkpoint/trainer_state.h"
#include "checkpoint/training_state.h"

#include <array>
#include <bit>
#include <cstring>
#include <string>
#include <vector>

namespace millrace::test {

inline BlockSpec block(std::string name, std::vector<ParameterSpec> parameters, std::int64_t elements) {
  BlockSpec spec;
  spec.name = std::move(name);
  spec.parameters = std::move(parameters);
  spec.elements = elements;
  return spec;
}

inline std::vector<BlockSpec> smallBlocks() {
  return {
      block("embedding", {{"model.embed_tokens.weight", {7, 5}, 0, true}}, 128),
      block("layers.0.attention",
            {{"model.layers.0.input_layernorm.weight", {5}, 0, false}, {"model.layers.0.q.weight", {3, 5}, 128, true}},
            256),
      block("norm", {{"model.norm.weight", {5}, 0, false}}, 128),
  };
}

class SmallState final : public TrainingState {
 public:
  explicit SmallState(std::vector<BlockSpec> blocks = smallBlocks()) : m_blocks(std::move(blocks)) {
    for (auto& plane : m_planes)
      for (const BlockSpec& spec : m_blocks) plane.emplace_back(static_cast<std::size_t>(spec.elements), 0.0f);
  }

  /// Random bits in every parameter, NaN left out; padding stays zero.
  void fill(std::uint64_t seed) {
    Random random(seed, "state");
    for (auto& plane : m_planes)
      for (std::size_t b = 0; b < m_blocks.size(); ++b)
        for (const ParameterSpec& parameter : m_blocks[b].parameters)
          for (std::int64_t i = 0; i < parameter.elements(); ++i) {
            auto bits = static_cast<std::uint32_t>(random.next());
            if ((bits & 0x7F800000u) == 0x7F800000u) bits &= 0x807FFFFFu; // denormals instead
            plane[b][static_cast<std::size_t>(parameter.offset + i)] = std::bit_cast<float>(bits);
          }
  }

  bool sameBits(const SmallState& other) const {
    for (std::size_t p = 0; p < m_planes.size(); ++p)
      for (std::size_t b = 0; b < m_blocks.size(); ++b) {
        const auto& mine = m_planes[p][b];
        const auto& theirs = other.m_planes[p][b];
        if (mine.size() != theirs.size() || std::memcmp(mine.data(), theirs.data(), mine.size() * sizeof(float)) != 0)
          return false;
      }
    return true;
  }

  const std::vector<BlockSpec>& blocks() const override { return m_blocks; }
  Status read(std::size_t block, StatePlane plane, std::int64_t first, std::span<float> destination) const override {
    const auto& source = m_planes[static_cast<std::size_t>(plane)][block];
    largestPiece = std::max(largestPiece, destination.size());
    std::copy_n(source.begin() + first, destination.size(), destination.begin());
    return {};
  }
  Status write(std::size_t block, StatePlane plane, std::int64_t first, std::span<const float> source) override {
    largestPiece = std::max(largestPiece, source.size());
    std::copy(source.begin(), source.end(), m_planes[static_cast<std::size_t>(plane)][block].begin() + first);
    return {};
  }

  mutable std::size_t largestPiece = 0;

 private:
  std::vector<BlockSpec> m_blocks;
  std::array<std::vector<std::vector<float>>, 3> m_planes;
};

inline TrainerState trainerAt(std::int64_t step) {
  TrainerState trainer;
  trainer.step = step;
  trainer.tokens = step * 4096;
  trainer.cursor = {1, step * 3};
  trainer.optimizerSteps = step - 1;
  trainer.discardedSteps = 1;
  trainer.bestValidationLoss = 2.0 / 3.0;
  trainer.bestValidationStep = step / 2;
  trainer.evaluatedStep = step;
  trainer.sampledStep = step;
  trainer.elapsedSeconds = 0.1 * static_cast<double>(step);
  trainer.lossAverage = 1.0 / 7.0;
  trainer.seed = 0xFEDCBA9876543210ull;
  trainer.samplerState = ~0ull;
  trainer.configFingerprint = "config";
  trainer.dataFingerprint = "data";
  return trainer;
}

} // namespace millrace::test
