// Sums over a range on the CPU, in fp64.
// Synchronous; equal bits for any number of threads.
#pragma once

#include "base/thread_pool.h"
#include "device/cpu/ops/isa.h"
#include "device/kernels.h"

namespace millrace::cpu {

void sum(ThreadPool& pool, const SumArgs& args, Isa isa = bestIsa());
void sumOfSquares(ThreadPool& pool, const SumOfSquaresArgs& args, Isa isa = bestIsa());

} // namespace millrace::cpu
