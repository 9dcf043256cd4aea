// RMSNorm on the CPU and its gradient (Zhang and Sennrich 2019), one pass over memory each.
// Synchronous; equal bits for any number of threads.
#pragma once

#include "base/thread_pool.h"
#include "device/cpu/ops/isa.h"
#include "device/kernels.h"

namespace millrace::cpu {

void rmsNorm(ThreadPool& pool, const RmsNormArgs& args, Isa isa = bestIsa());
void rmsNormBackward(ThreadPool& pool, const RmsNormBackwardArgs& args, Isa isa = bestIsa());

} // namespace millrace::cpu
