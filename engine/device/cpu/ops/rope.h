// Rotary positions on the CPU, in place; the inverse rotation is the gradient.
// Synchronous; equal bits for any number of threads.
#pragma once

#include "base/thread_pool.h"
#include "device/cpu/ops/isa.h"
#include "device/kernels.h"

namespace millrace::cpu {

void rope(ThreadPool& pool, const RopeArgs& args, Isa isa = bestIsa());

} // namespace millrace::cpu
