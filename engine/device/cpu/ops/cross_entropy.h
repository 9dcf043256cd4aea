// Softmax and cross-entropy of a chunk of logits on the CPU, with the gradient in the same memory.
// Synchronous; equal bits for any number of threads.
#pragma once

#include "base/thread_pool.h"
#include "device/cpu/ops/isa.h"
#include "device/kernels.h"

namespace millrace::cpu {

void crossEntropy(ThreadPool& pool, const CrossEntropyArgs& args, Isa isa = bestIsa());

} // namespace millrace::cpu
