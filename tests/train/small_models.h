// Small models of several families, and random batches for them: what the numeric tests of training compute with.
#pragma once

#include "base/random.h"
#include "data/batch.h"
#include "model/config_import.h"

#include <string>
#include <vector>

namespace millrace::test {

/// "llama": grouped heads. "qwen3": head norms, heads wider than hidden / heads. "gpt2": tied, learned positions,
/// biases. "mistral": a window. "olmo2": norms behind attention and MLP. "gemma2": these and those before, caps,
/// windows of every other layer, tied. "mixtral", "qwen3_moe": experts.
inline ModelSpec smallModel(const std::string& family, std::int64_t layers = 4, std::int64_t hidden = 64) {
  Json config;
  config["model_type"] = family;
  config["vocab_size"] = 97;
  if (family == "gpt2") {
    config["n_embd"] = hidden;
    config["n_layer"] = layers;
    config["n_head"] = 4;
    config["n_positions"] = 128;
  } else {
    config["hidden_size"] = hidden;
    config["num_hidden_layers"] = layers;
    config["num_attention_heads"] = 4;
    config["num_key_value_heads"] = 2;
    config["intermediate_size"] = hidden * 7 / 4;
    config["max_position_embeddings"] = 128;
    config["tie_word_embeddings"] = family == "gemma2";
    if (family == "qwen3" || family == "gemma2") config["head_dim"] = hidden / 2;
    if (family == "mistral" || family == "gemma2") config["sliding_window"] = 7;
    if (family == "mixtral") config["num_local_experts"] = 4;
    if (family == "qwen3_moe") {
      config["num_experts"] = 6;
      config["num_experts_per_tok"] = 3;
      config["moe_intermediate_size"] = hidden * 5 / 8;
    }
  }
  return valueOrThrow(modelSpecFromConfig(config, family));
}

/// Rows of packed documents of random lengths. learned: the share of positions with a target.
inline MicroBatch randomBatch(std::int64_t vocabulary, std::int64_t rows, std::int64_t context, double learned,
                              std::uint64_t seed) {
  Random random(seed, "batch");
  MicroBatch batch;
  batch.rows = rows;
  batch.context = context;
  for (std::int64_t row = 0; row < rows; ++row) {
    std::int32_t start = 0;
    for (std::int32_t t = 0; t < context; ++t) {
      if (t > 0 && random.below(9) == 0) start = t;
      const auto token = [&] {
        return static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(vocabulary)));
      };
      batch.tokens.push_back(token());
      batch.targets.push_back(random.uniform() < learned ? token() : -1);
      batch.positions.push_back(t - start);
      batch.documentStart.push_back(start);
    }
  }
  return batch;
}

/// k micro-batches with masks of very different density; of three or more one has no target at all.
inline std::vector<MicroBatch> unevenBatches(std::int64_t vocabulary, std::int64_t k, std::int64_t rows,
                                             std::int64_t context, std::uint64_t seed) {
  constexpr double shares[] = {0.9, 0.15, 0.0, 0.5};
  std::vector<MicroBatch> batches;
  for (std::int64_t m = 0; m < k; ++m)
    batches.push_back(
        randomBatch(vocabulary, rows, context, shares[m % 4], seed * 1000 + static_cast<std::uint64_t>(m)));
  return batches;
}

} // namespace millrace::test
