#pragma once
#include "base/thread_pool.h"
#include "device/kernels.h"
namespace millrace::cpu {
void attention(ThreadPool& pool, const AttentionArgs& args);
}
