// act(gate) * up on the CPU (SwiGLU and its kin), and its gradient. Synchronous; equal bits for any number of threads.
#pragma once

#include "base/thread_pool.h"
#include "device/cpu/ops/isa.h"
#include "device/kernels.h"

namespace millrace::cpu {

void gatedActivation(ThreadPool& pool, const GatedActivationArgs& args, Isa isa = bestIsa());
void gatedActivationBackward(ThreadPool& pool, const GatedActivationBackwardArgs& args, Isa isa = bestIsa());

} // namespace millrace::cpu
