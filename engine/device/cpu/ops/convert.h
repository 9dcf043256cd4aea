// Conversion between fp32 and bf16 on the CPU, or a strided copy.
// Synchronous; equal bits for any number of threads.
#pragma once

#include "base/thread_pool.h"
#include "device/cpu/ops/isa.h"
#include "device/kernels.h"

namespace millrace::cpu {

void convert(ThreadPool& pool, const ConvertArgs& args, Isa isa = bestIsa());

} // namespace millrace::cpu
