#include "device/cpu/ops/expert_rows_kernels.h"

#include "device/cpu/ops/simd.h"

namespace millrace::cpu::MILLRACE_ISA {
namespace {

template <class T>
void combine(const CombinedRows& args, std::int64_t begin, std::int64_t end) {
  for (std::int64_t t = begin; t < end; ++t) {
    const std::int32_t* rows = args.rows + t * args.choices;
    const float* weights = args.weights ? args.weights + t * args.choices : nullptr;
    const T* residual = args.residual.data ? rowOf<const T>(args.residual, t) : nullptr;
    T* y = rowOf<T>(args.y, t);
    overRow(args.columns, [&](std::int64_t i, auto part) {
      F32v sum{};
      for (std::int64_t j = 0; j < args.choices; ++j)
        sum += load(rowOf<const T>(args.x, rows[j]) + i, part) * (weights ? weights[j] : 1.0f);
      if (residual) sum += load(residual + i, part);
      store(y + i, sum, part);
    });
  }
}

template <class T>
void weigh(const WeighedRows& args, std::int64_t begin, std::int64_t end) {
  for (std::int64_t r = begin; r < end; ++r) {
    T* dY = rowOf<T>(args.dY, r);
    T* x = rowOf<T>(args.x, r);
    const float weight = args.weights[r];
    args.dWeights[r] =
        sumRow(args.columns, [&](std::int64_t i, auto part) { return load(dY + i, part) * load(x + i, part); });
    overRow(args.columns, [&](std::int64_t i, auto part) {
      store(dY + i, load(dY + i, part) * weight, part);
      store(x + i, load(x + i, part) * weight, part);
    });
  }
}

} // namespace

void combineTokens(const CombinedRows& args, std::int64_t begin, std::int64_t end) {
  args.bf16 ? combine<BFloat16>(args, begin, end) : combine<float>(args, begin, end);
}

void weighRange(const WeighedRows& args, std::int64_t begin, std::int64_t end) {
  args.bf16 ? weigh<BFloat16>(args, begin, end) : weigh<float>(args, begin, end);
}

} // namespace millrace::cpu::MILLRACE_ISA
