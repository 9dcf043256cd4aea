#include "device/cpu/ops/bias_gradient.h"

#include "device/cpu/ops/column_sums.h"
#include "device/cpu/ops/rows.h"
#include "device/cpu/ops/sum_kernels.h"

namespace millrace::cpu {

void biasGradient(ThreadPool& pool, const BiasGradientArgs& args, Isa isa) {
  const std::int64_t columns = args.dY.shape[-1];
  const Rows dY = rowsOf(args.dY);
  const bool bf16 = args.dY.dtype == DType::BF16;
  const auto sums = MILLRACE_ISA_FUNCTION(isa, columnSumsOfRows);
  columnSums<1>(pool, rowCount(args.dY), columns, {args.dBias.as<float>()}, isa,
                [&](std::int64_t begin, std::int64_t end, float* part) { sums(dY, bf16, columns, begin, end, part); });
}

} // namespace millrace::cpu
