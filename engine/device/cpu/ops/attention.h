// Causal attention on the CPU, forward, in tiles (Dao 2023): the (Tq, Tk) matrix never exists, and blocks of keys that
// no query of a block sees are skipped, so windows and documents cost what they show.
#pragma once

#include "base/thread_pool.h"
#include "device/kernels.h"

namespace millrace::cpu {

/// See AttentionArgs. Synchronous; any thread. Tq may be below Tk (generation). Heads of any size; multiples of 8 are
/// fast. The bits depend on shapes, dtypes and values alone. Each compute thread keeps
/// attentionScratchBytesPerThread() of heap (attention_shape.h).
void attention(ThreadPool& pool, const AttentionArgs& args);

} // namespace millrace::cpu
