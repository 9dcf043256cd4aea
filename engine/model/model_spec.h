// ModelSpec: an architecture as a value. What a Hugging Face config.json says, in one family-neutral form; pure data.
#pragma once

#include "tensor/activation.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace millrace {

enum class ModelFamily { Llama, Qwen2, Qwen3, Mistral, Gpt2, Phi3, Olmo2, Gemma, Gemma2, Mixtral, Qwen3Moe };

enum class NormKind { Rms, Layer };

enum class RopeKind { Default, Linear, Dynamic, Llama3, Yarn, LongRope };

/// Rotary positions; see rope_table.h for the numbers that it gives.
struct RopeSpec {
  RopeKind kind = RopeKind::Default;
  double theta = 10000;
  double factor = 1;
  double lowFrequencyFactor = 1;              ///< llama3
  double highFrequencyFactor = 4;             ///< llama3
  std::int64_t originalMaxPositions = 0;      ///< llama3, yarn, longrope
  double betaFast = 32, betaSlow = 1;         ///< yarn
  std::optional<double> attentionFactor;      ///< yarn, longrope
  std::optional<double> mscale, mscaleAllDim; ///< yarn
  bool truncate = true;                       ///< yarn
  /// longrope: a divisor for each pair, for sequences of up to originalMaxPositions and for longer ones; and the length
  /// that the model was extended to. ModelSpec::maxPositions is what the first set is for.
  std::vector<double> shortFactors, longFactors;
  std::int64_t extendedPositions = 0;
  double partialRotaryFactor = 1; ///< share of a head that rotates, its first elements; phi3

  bool operator==(const RopeSpec&) const = default;
};

/// RMS norms of q and k, before the rotation.
enum class QkNorm {
  None,
  Head,       ///< over each head, with one weight for all
  Projection, ///< over all heads of a token at once
};

struct AttentionSpec {
  std::int64_t heads = 0;
  std::int64_t kvHeads = 0;
  std::int64_t headDim = 0;
  bool qkvBias = false;
  bool outBias = false;
  QkNorm qkNorm = QkNorm::None;
  double softcap = 0; ///< above 0: scores s count as softcap * tanh(s / softcap)

  bool operator==(const AttentionSpec&) const = default;
};

struct MlpSpec {
  std::int64_t inner = 0;
  bool gated = true; ///< act(gate) * up, else act(x)
  Activation activation = Activation::Silu;
  bool bias = false;

  bool operator==(const MlpSpec&) const = default;
};

/// A mixture of experts in the place of each layer's MLP: MlpSpec is then of one expert.
struct ExpertsSpec {
  std::int64_t count = 0;  ///< 0: no mixture
  std::int64_t chosen = 0; ///< experts of each token
  bool normalize = false;  ///< the weights of the chosen add up to 1

  bool operator==(const ExpertsSpec&) const = default;
};

/// What differs between layers.
struct LayerSpec {
  std::int64_t window = 0;   ///< sliding window in tokens, 0: none
  double attentionScale = 1; ///< multiplies q k^T

  bool operator==(const LayerSpec&) const = default;
};

struct ModelSpec {
  ModelFamily family = ModelFamily::Llama;
  std::int64_t vocabulary = 0;
  std::int64_t hidden = 0;
  std::int64_t maxPositions = 0;
  NormKind norm = NormKind::Rms;
  double normEpsilon = 1e-6;
  double normWeightOffset = 0; ///< norms multiply by offset + weight
  bool preNorms = true;        ///< of what goes into attention and MLP
  bool postNorms = false;      ///< of what comes out of them, before it is added to the residual; RMS norms
  double embeddingScale = 1;   ///< of the embedding where it is looked up, in the precision that computes
  double logitSoftcap = 0;     ///< above 0: logits are softcap * tanh(products / softcap)
  bool tiedEmbeddings = false;
  bool learnedPositions = false; ///< gpt2: an embedding of positions is added
  std::optional<RopeSpec> rope;  ///< absent with learned positions
  bool conv1dWeights = false;    ///< gpt2: projection weights are stored (in, out)
  double initializerRange = 0.02;
  AttentionSpec attention;
  MlpSpec mlp;
  ExpertsSpec experts;
  std::vector<LayerSpec> layers;
  std::optional<std::int64_t> bosToken;
  std::vector<std::int64_t> eosTokens;
  std::optional<std::int64_t> paddingToken; ///< as an input, it gives its embedding no gradient

  bool operator==(const ModelSpec&) const = default;
};

} // namespace millrace
