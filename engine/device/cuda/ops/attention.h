// Causal attention on the GPU. Head sizes that are multiples of 8 up to 256 in bf16 run on the matrix units
// (attention_forward_bf16, attention_backward_bf16); everything else in plain fp32 arithmetic (attention_general).
#pragma once

#include "device/kernels.h"

#include <cuda_runtime_api.h>

namespace millrace::cuda {

/// See AttentionArgs. Asynchronous: results are readable when an event recorded on the stream after the call has
/// happened. documentStart must not decrease within a row. The bits depend on shapes, dtypes and values alone, and on
/// whether strides and addresses are multiples of 16 bytes. Throws EngineException when a launch is refused.
void attention(cudaStream_t stream, const AttentionArgs& args);

/// See AttentionBackwardArgs; likewise. Of scratch, the first B * heads * T elements are used: the row sums of
/// dOut * out as (B, heads, T). No atomics: dK and dV are summed by the block that owns the keys, dQ by the block that
/// owns the queries.
void attentionBackward(cudaStream_t stream, const AttentionBackwardArgs& args);

} // namespace millrace::cuda
