#include "device/cpu/ops/column_sums.h"

#include "device/cpu/ops/sum_kernels.h"

namespace millrace::cpu {

std::int64_t columnSumParts(std::int64_t rows, std::int64_t columns) {
  return std::clamp<std::int64_t>(rows * columns / 32768, 1, std::min<std::int64_t>(rows, 32));
}

void addColumnSums(ThreadPool& pool, const float* parts, std::int64_t count, std::int64_t columns, std::int64_t stride,
                   float* target, Isa isa) {
  constexpr std::int64_t block = 1024;
  const auto add = MILLRACE_ISA_FUNCTION(isa, addRows);
  pool.parallelFor((columns + block - 1) / block, [&](std::int64_t i) {
    const std::int64_t begin = i * block;
    add(parts + begin, count, stride, std::min(block, columns - begin), target + begin);
  });
}

} // namespace millrace::cpu
