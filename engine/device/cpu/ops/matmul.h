// Matrix products on the CPU: fixed tiles over the pool, each a single-threaded oneDNN call.
#pragma once

#include "base/thread_pool.h"
#include "device/kernels.h"

namespace millrace::cpu {

void matmul(ThreadPool& pool, const MatmulArgs& args);

} // namespace millrace::cpu
