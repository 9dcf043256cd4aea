// Values kept within a bound on the CPU. Synchronous; equal bits for any number of threads.
#pragma once

#include "base/thread_pool.h"
#include "device/cpu/ops/isa.h"
#include "device/kernels.h"

namespace millrace::cpu {

void softcap(ThreadPool& pool, const SoftcapArgs& args, Isa isa = bestIsa());

} // namespace millrace::cpu
