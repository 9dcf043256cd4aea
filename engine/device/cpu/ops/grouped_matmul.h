// Products of groups of rows on the CPU, one after the other, each as matmul.h makes it. Synchronous; equal bits for
// any number of threads.
#pragma once

#include "base/thread_pool.h"
#include "device/kernels.h"

namespace millrace::cpu {

void groupedMatmul(ThreadPool& pool, const GroupedMatmulArgs& args);
void groupedWeightGradient(ThreadPool& pool, const GroupedWeightGradientArgs& args);

} // namespace millrace::cpu
