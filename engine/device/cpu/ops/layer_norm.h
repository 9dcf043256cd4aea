// LayerNorm on the CPU and its gradient, one pass over memory each.
// Synchronous; equal bits for any number of threads.
#pragma once

#include "base/thread_pool.h"
#include "device/cpu/ops/isa.h"
#include "device/kernels.h"

namespace millrace::cpu {

void layerNorm(ThreadPool& pool, const LayerNormArgs& args, Isa isa = bestIsa());
void layerNormBackward(ThreadPool& pool, const LayerNormBackwardArgs& args, Isa isa = bestIsa());

} // namespace millrace::cpu
