// RunShape: the numbers that decide how large every buffer of a run is. Results in bits depend on the part above the
// line only.
#pragma once

#include "base/units.h"
#include "engine/precision.h"
#include "tensor/tensor.h"

#include <cstdint>
#include <string_view>

namespace millrace {

struct RunShape {
  std::int64_t rows = 1;         ///< sequences in a micro-batch
  std::int64_t context = 0;      ///< tokens in a sequence
  std::int64_t microBatches = 1; ///< k: micro-batches in a step
  Precision precision = Precision::Fp32;
  ClipMode clip = ClipMode::Exact;
  std::int64_t headChunk = 0; ///< tokens whose logits exist at once
  // -- from here on: bytes and speed, never bits --
  std::int64_t group = 1; ///< g: micro-batches that visit a layer before the next layer is visited
  Recompute recompute = Recompute::Full;
  int slots = 2; ///< weight buffers that layers stream through
  bool offloadActivations = false;
  int activationSlots = 0; ///< device buffers of kept activations when they are offloaded
  int updateSlots = 0;     ///< device buffers in which AdamW updates pieces of blocks whose state is on the host
  /// With clipping off: layers with their state in host memory, spread evenly, whose gradients wait there for the next
  /// forward, so that AdamW has as much to do in forward as in backward.
  std::int64_t heldLayers = 0;
  int devices = 1;              ///< that share the state on the host, each on micro-batches of its own
  bool training = true;         ///< false: weights alone, forward alone
  std::int64_t cacheTokens = 0; ///< positions of a key/value cache, for generation

  std::int64_t tokens() const { return rows * context; } ///< of a micro-batch
  DType activationType() const { return precision == Precision::Bf16 ? DType::BF16 : DType::F32; }
  Bytes weightBytes() const { return bytesPerElement(activationType()); }
};

} // namespace millrace
