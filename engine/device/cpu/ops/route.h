// Routing of tokens to experts on the CPU. Synchronous; equal bits for any number of threads.
#pragma once

#include "base/thread_pool.h"
#include "device/kernels.h"

namespace millrace::cpu {

void route(ThreadPool& pool, const RouteArgs& args);
void routeBackward(ThreadPool& pool, const RouteBackwardArgs& args);

} // namespace millrace::cpu
