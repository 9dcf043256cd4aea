// Elementwise activation functions on the CPU, and their gradients. Synchronous; equal bits for any number of threads.
#pragma once

#include "base/thread_pool.h"
#include "device/cpu/ops/isa.h"
#include "device/kernels.h"

namespace millrace::cpu {

void activation(ThreadPool& pool, const ActivationArgs& args, Isa isa = bestIsa());
void activationBackward(ThreadPool& pool, const ActivationBackwardArgs& args, Isa isa = bestIsa());

} // namespace millrace::cpu
