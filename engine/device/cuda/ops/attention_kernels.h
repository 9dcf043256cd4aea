// The parts that attention.cpp chooses from. All asynchronous on the stream; shapes are as AttentionArgs and
// AttentionBackwardArgs say, and nothing is empty.
#pragma once

#include "device/kernels.h"

#include <cuda_runtime_api.h>

namespace millrace::cuda {

/// bf16; head sizes, strides and addresses as matrixUnitsCan() (attention.cpp) wants them; scale above 0.
void attentionForwardBf16(cudaStream_t stream, const AttentionArgs& args);
/// Any activation dtype, head size, stride and scale.
void attentionForwardGeneral(cudaStream_t stream, const AttentionArgs& args);

/// scratch: the row sums of dOut * out as (B, heads, T); what the following read.
void attentionRowSums(cudaStream_t stream, const AttentionBackwardArgs& args);
/// dK and dV, as attentionForwardBf16.
void attentionKeyGradientsBf16(cudaStream_t stream, const AttentionBackwardArgs& args);
/// dQ, as attentionForwardBf16.
void attentionQueryGradientsBf16(cudaStream_t stream, const AttentionBackwardArgs& args);
/// dQ, dK and dV, as attentionForwardGeneral.
void attentionGradientsGeneral(cudaStream_t stream, const AttentionBackwardArgs& args);

} // namespace millrace::cuda
