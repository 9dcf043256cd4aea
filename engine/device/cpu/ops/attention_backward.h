// Causal attention on the CPU, backward, in tiles: probabilities are computed again from q, k and lse (Dao 2023).
#pragma once

#include "base/thread_pool.h"
#include "device/kernels.h"

namespace millrace::cpu {

/// See AttentionBackwardArgs; dQ, dK and dV must not overlap the inputs. Synchronous; any thread. The bits depend on
/// shapes, dtypes and values alone. Each compute thread keeps attentionScratchBytesPerThread() of heap
/// (attention_shape.h).
void attentionBackward(ThreadPool& pool, const AttentionBackwardArgs& args);

} // namespace millrace::cpu
