// Matrix products on the CPU: fixed tiles over the pool, each a single-threaded oneDNN call.
#pragma once

#include "base/thread_pool.h"
#include "device/kernels.h"

namespace millrace::cpu {

/// See MatmulArgs. Synchronous; any thread. The bits depend on shapes, dtypes and values alone. bf16 operands are
/// multiplied as such where the processor can, and widened tile by tile elsewhere; sums are fp32 and rounded once.
/// Each compute thread keeps matmulScratchBytesPerThread() of heap (matmul_plan.h).
void matmul(ThreadPool& pool, const MatmulArgs& args);

} // namespace millrace::cpu
