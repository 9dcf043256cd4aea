#include "device/cpu/ops/sum_kernels.h"

#include "device/cpu/ops/simd.h"
#include "device/kernels.h"

namespace millrace::cpu::MILLRACE_ISA {
namespace {

template <class T>
void columnSums(const Rows& rows, std::int64_t columns, std::int64_t begin, std::int64_t end, float* sums) {
  if (begin == end) {
    overRow(columns, [&](std::int64_t i, auto part) { store(sums + i, F32v{}, part); });
    return;
  }
  const T* first = rowOf<const T>(rows, begin);
  overRow(columns, [&](std::int64_t i, auto part) { store(sums + i, load(first + i, part), part); });
  for (std::int64_t r = begin + 1; r < end; ++r) {
    const T* x = rowOf<const T>(rows, r);
    overRow(columns,
            [&](std::int64_t i, auto part) { store(sums + i, load(sums + i, part) + load(x + i, part), part); });
  }
}

template <class T>
void listedRows(const Rows& rows, std::int64_t columns, const std::int32_t* list, std::int64_t count, float scale,
                float* out) {
  if (count == 0) {
    overRow(columns, [&](std::int64_t i, auto part) { store(out + i, F32v{}, part); });
    return;
  }
  const T* first = rowOf<const T>(rows, list[0]);
  overRow(columns, [&](std::int64_t i, auto part) { store(out + i, load(first + i, part), part); });
  for (std::int64_t k = 1; k < count; ++k) {
    const T* x = rowOf<const T>(rows, list[k]);
    overRow(columns, [&](std::int64_t i, auto part) { store(out + i, load(out + i, part) + load(x + i, part), part); });
  }
  if (scale != 1)
    overRow(columns, [&](std::int64_t i, auto part) { store(out + i, load(out + i, part) * scale, part); });
}

template <class T>
void scaleOrAdd(const void* aData, float scale, const void* bData, void* yData, std::int64_t columns) {
  const T* a = static_cast<const T*>(aData);
  const T* b = static_cast<const T*>(bData);
  T* y = static_cast<T*>(yData);
  if (!b && scale == 1) {
    __builtin_memcpy(y, a, static_cast<std::size_t>(columns) * sizeof(T));
    return;
  }
  overRow(columns, [&](std::int64_t i, auto part) {
    F32v value = load(a + i, part) * scale;
    if (b) value += load(b + i, part);
    store(y + i, value, part);
  });
}

/// Sums in fp64, four running registers and a fixed tree.
MILLRACE_INLINE double sumWide(const float* x, std::int64_t count) {
  F64v sums[4] = {};
  const auto add = [&](F32v value, F64v& low, F64v& high) {
    F32half halves[2];
    __builtin_memcpy(halves, &value, sizeof halves);
    low += __builtin_convertvector(halves[0], F64v);
    high += __builtin_convertvector(halves[1], F64v);
  };
  std::int64_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    add(load(x + i, Whole{}), sums[0], sums[1]);
    add(load(x + i + lanes, Whole{}), sums[2], sums[3]);
  }
  for (; i + lanes <= count; i += lanes) add(load(x + i, Whole{}), sums[0], sums[1]);
  if (i < count) add(load(x + i, Part{static_cast<int>(count - i)}), sums[2], sums[3]);
  const F64v total = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  double result = 0;
  for (int lane = 0; lane < lanes / 2; ++lane) result += total[lane];
  return result;
}

} // namespace

void columnSumsOfRows(const Rows& x, bool bf16, std::int64_t columns, std::int64_t begin, std::int64_t end,
                      float* sums) {
  bf16 ? columnSums<BFloat16>(x, columns, begin, end, sums) : columnSums<float>(x, columns, begin, end, sums);
}

void addRows(const float* rows, std::int64_t count, std::int64_t stride, std::int64_t columns, float* target) {
  overRow(columns, [&](std::int64_t i, auto part) {
    F32v sum = load(rows + i, part);
    for (std::int64_t r = 1; r < count; ++r) sum += load(rows + r * stride + i, part);
    store(target + i, load(target + i, part) + sum, part);
  });
}

double sumRange(const float* x, std::int64_t count) {
  return sumWide(x, count);
}

void addSquaresInLanes(const float* x, std::int64_t count, double* sums) {
  constexpr std::int64_t all = SumOfSquaresArgs::lanes;
  const auto square = [&](std::int64_t i, std::int64_t lane) {
    const double wide = x[i]; // its square is exact
    sums[lane] += wide * wide;
  };
  std::int64_t i = 0;
  for (; i + all <= count; i += all)
    for (std::int64_t lane = 0; lane < all; ++lane) square(i + lane, lane);
  for (std::int64_t lane = 0; i + lane < count; ++lane) square(i + lane, lane);
}

void sumListedRows(const Rows& x, bool bf16, std::int64_t columns, const std::int32_t* list, std::int64_t count,
                   float scale, float* out) {
  bf16 ? listedRows<BFloat16>(x, columns, list, count, scale, out)
       : listedRows<float>(x, columns, list, count, scale, out);
}

void copyRow(const void* a, float scale, const void* b, void* y, bool bf16, std::int64_t columns) {
  bf16 ? scaleOrAdd<BFloat16>(a, scale, b, y, columns) : scaleOrAdd<float>(a, scale, b, y, columns);
}

} // namespace millrace::cpu::MILLRACE_ISA
