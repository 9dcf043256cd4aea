// Rows of tokens at their experts on the CPU: brought together again, and weighed. Synchronous; equal bits for any
// number of threads.
#pragma once

#include "base/thread_pool.h"
#include "device/cpu/ops/isa.h"
#include "device/kernels.h"

namespace millrace::cpu {

void combineRows(ThreadPool& pool, const CombineRowsArgs& args, Isa isa = bestIsa());
void weighRows(ThreadPool& pool, const WeighRowsArgs& args, Isa isa = bestIsa());

} // namespace millrace::cpu
