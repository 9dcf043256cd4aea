#pragma once
#include "base/thread_pool.h"
#include "device/kernels.h"
namespace millrace::cpu {
void attentionBackward(ThreadPool& pool, const AttentionBackwardArgs& args);
}
