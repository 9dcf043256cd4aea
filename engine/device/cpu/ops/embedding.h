// Token (and position) embedding on the CPU, its gradient from tokens sorted by row, and sums
// of such gradients.
// Synchronous; equal bits for any number of threads.
#pragma once

#include "base/thread_pool.h"
#include "device/cpu/ops/isa.h"
#include "device/kernels.h"

namespace millrace::cpu {

void embedding(ThreadPool& pool, const EmbeddingArgs& args, Isa isa = bestIsa());
void embeddingBackward(ThreadPool& pool, const EmbeddingBackwardArgs& args, Isa isa = bestIsa());
void addRows(ThreadPool& pool, const AddRowsArgs& args, Isa isa = bestIsa());

} // namespace millrace::cpu
