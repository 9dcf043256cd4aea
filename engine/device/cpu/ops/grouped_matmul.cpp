#include "device/cpu/ops/grouped_matmul.h"

#include "device/cpu/ops/matmul.h"

namespace millrace::cpu {

namespace {

/// Matrix g of (G, N, K).
TensorView matrixOf(const TensorView& all, std::int64_t g) {
  return all.rows(g, 1).reshaped({all.shape[1], all.shape[2]});
}

/// Calls product(g, first row, rows) for every group that has rows.
template <class Product>
void eachGroup(const TensorView& begins, Product&& product) {
  const auto* begin = begins.as<std::int32_t>();
  for (std::int64_t g = 0; g + 1 < begins.shape[0]; ++g)
    if (begin[g + 1] > begin[g]) product(g, begin[g], begin[g + 1] - begin[g]);
}

} // namespace

void groupedMatmul(ThreadPool& pool, const GroupedMatmulArgs& args) {
  eachGroup(args.begins, [&](std::int64_t g, std::int64_t first, std::int64_t count) {
    matmul(pool, {.a = args.a.rows(first, count),
                  .b = matrixOf(args.b, g),
                  .c = args.c.rows(first, count),
                  .transposeB = args.transposeB,
                  .bias = {},
                  .residual = {}});
  });
}

void groupedWeightGradient(ThreadPool& pool, const GroupedWeightGradientArgs& args) {
  eachGroup(args.begins, [&](std::int64_t g, std::int64_t first, std::int64_t count) {
    matmul(pool, {.a = args.dY.rows(first, count),
                  .b = args.x.rows(first, count),
                  .c = matrixOf(args.dW, g),
                  .transposeA = true,
                  .accumulate = true,
                  .bias = {},
                  .residual = {}});
  });
}

} // namespace millrace::cpu
