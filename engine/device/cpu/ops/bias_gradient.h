// The gradient of a bias on the CPU: column sums.
// Synchronous; equal bits for any number of threads.
#pragma once

#include "base/thread_pool.h"
#include "device/cpu/ops/isa.h"
#include "device/kernels.h"

namespace millrace::cpu {

void biasGradient(ThreadPool& pool, const BiasGradientArgs& args, Isa isa = bestIsa());

} // namespace millrace::cpu
