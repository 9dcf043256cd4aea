// Compiled once per instruction set (MILLRACE_ISA). See matmul_simd.h; the rules for such sources are in simd_vector.h.
#include "device/cpu/ops/matmul_simd.h"
#include "device/cpu/ops/simd_vector.h"

namespace millrace::cpu::MILLRACE_ISA {

namespace {

template <class From>
void copyRows(const From* from, std::int64_t fromStride, float* to, std::int64_t toStride, std::int64_t rows,
              std::int64_t columns) {
  constexpr std::int64_t line = 64 / sizeof(From);
  for (std::int64_t r = 0; r < rows; ++r, from += fromStride, to += toStride) {
    // Rows lie on pages of their own, where the processor's own prefetching starts anew each time.
    const From* const ahead = r + 4 < rows ? from + 4 * fromStride : from;
    std::int64_t c = 0;
    for (; c + line <= columns; c += line) {
      __builtin_prefetch(ahead + c);
      for (std::int64_t i = c; i < c + line; i += lanes) store(to + i, load(from + i));
    }
    for (; c + lanes <= columns; c += lanes) store(to + c, load(from + c));
    for (; c < columns; ++c) to[c] = widened(from[c]);
  }
}

typedef float Quad __attribute__((vector_size(16)));
typedef std::uint16_t HalfQuad __attribute__((vector_size(8)));
typedef std::uint32_t BitsQuad __attribute__((vector_size(16)));
typedef float Oct __attribute__((vector_size(32)));

inline Quad loadQuad(const float* from) {
  Quad value;
  __builtin_memcpy(&value, from, sizeof value);
  return value;
}

inline Quad loadQuad(const std::uint16_t* from) {
  HalfQuad half;
  __builtin_memcpy(&half, from, sizeof half);
  return reinterpret_cast<Quad>(__builtin_convertvector(half, BitsQuad) << 16);
}

/// Rows i and i + 4 of a block of 8 rows and 4 columns, side by side. By reference: the baseline has no 32-byte
/// registers to return one in.
template <class From>
inline void loadPair(const From* from, std::int64_t stride, int i, Oct& pair) {
  const Quad low = loadQuad(from + i * stride);
  const Quad high = loadQuad(from + (i + 4) * stride);
  pair = __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
}

inline void storeOct(float* to, const Oct& value) {
  __builtin_memcpy(to, &value, sizeof value);
}

/// 8 rows and 4 columns become 4 rows of 8.
template <class From>
inline void transposeBlock(const From* from, std::int64_t fromStride, float* to, std::int64_t toStride) {
  Oct a, b, c, d;
  loadPair(from, fromStride, 0, a);
  loadPair(from, fromStride, 1, b);
  loadPair(from, fromStride, 2, c);
  loadPair(from, fromStride, 3, d);
  const Oct ab0 = __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13);
  const Oct ab1 = __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15);
  const Oct cd0 = __builtin_shufflevector(c, d, 0, 8, 1, 9, 4, 12, 5, 13);
  const Oct cd1 = __builtin_shufflevector(c, d, 2, 10, 3, 11, 6, 14, 7, 15);
  storeOct(to, __builtin_shufflevector(ab0, cd0, 0, 1, 8, 9, 4, 5, 12, 13));
  storeOct(to + toStride, __builtin_shufflevector(ab0, cd0, 2, 3, 10, 11, 6, 7, 14, 15));
  storeOct(to + 2 * toStride, __builtin_shufflevector(ab1, cd1, 0, 1, 8, 9, 4, 5, 12, 13));
  storeOct(to + 3 * toStride, __builtin_shufflevector(ab1, cd1, 2, 3, 10, 11, 6, 7, 14, 15));
}

template <class From>
void transposeRows(const From* from, std::int64_t fromStride, float* to, std::int64_t toStride, std::int64_t rows,
                   std::int64_t columns) {
  constexpr std::int64_t line = 64 / sizeof(From);
  const std::int64_t wholeRows = rows / 8 * 8, wholeColumns = columns / 4 * 4;
  for (std::int64_t r = 0; r < wholeRows; r += 8) {
    const From* const ahead = r + 16 <= wholeRows ? from + (r + 8) * fromStride : from + r * fromStride;
    for (std::int64_t c = 0; c < wholeColumns; c += 4) {
      if (c % line == 0) {
        for (int i = 0; i < 8; ++i) __builtin_prefetch(ahead + i * fromStride + c);
      }
      transposeBlock(from + r * fromStride + c, fromStride, to + c * toStride + r, toStride);
    }
    for (std::int64_t c = wholeColumns; c < columns; ++c) {
      for (std::int64_t i = r; i < r + 8; ++i) to[c * toStride + i] = widened(from[i * fromStride + c]);
    }
  }
  for (std::int64_t r = wholeRows; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) to[c * toStride + r] = widened(from[r * fromStride + c]);
  }
}

inline void storeOne(float* to, float value) {
  *to = value;
}

inline void storeOne(std::uint16_t* to, float value) {
  *to = narrowed(value);
}

template <class Operand, class Out>
void finishRows(const MatmulEpilogue& args) {
  const auto* bias = static_cast<const Operand*>(args.bias);
  const auto* residual = static_cast<const Operand*>(args.residual);
  auto* c = static_cast<Out*>(args.c);
  const float* sum = args.sum;
  for (std::int64_t r = 0; r < args.rows; ++r) {
    std::int64_t n = 0;
    for (; n + lanes <= args.columns; n += lanes) {
      FloatV value = load(sum + n);
      if (bias) value += load(bias + n);
      if (residual) value += load(residual + n);
      store(c + n, value);
    }
    for (; n < args.columns; ++n) {
      float value = sum[n];
      if (bias) value += widened(bias[n]);
      if (residual) value += widened(residual[n]);
      storeOne(c + n, value);
    }
    sum += args.sumStride;
    c += args.cStride;
    if (residual) residual += args.residualStride;
  }
}

void finish(const MatmulEpilogue& args) {
  if (args.operandsBf16) {
    args.cBf16 ? finishRows<std::uint16_t, std::uint16_t>(args) : finishRows<std::uint16_t, float>(args);
  } else {
    args.cBf16 ? finishRows<float, std::uint16_t>(args) : finishRows<float, float>(args);
  }
}

template <int rows, class From>
inline void dotRow(const float* a, std::int64_t aStride, const From* b, float* sum, std::int64_t sumStride,
                   std::int64_t depth) {
  FloatV even[rows]{}, odd[rows]{};
  std::int64_t k = 0;
  for (; k + 2 * lanes <= depth; k += 2 * lanes) {
    const FloatV b0 = load(b + k), b1 = load(b + k + lanes);
    for (int m = 0; m < rows; ++m) {
      even[m] += load(a + m * aStride + k) * b0;
      odd[m] += load(a + m * aStride + k + lanes) * b1;
    }
  }
  for (; k + lanes <= depth; k += lanes) {
    const FloatV b0 = load(b + k);
    for (int m = 0; m < rows; ++m) even[m] += load(a + m * aStride + k) * b0;
  }
  for (int m = 0; m < rows; ++m) {
    float total = sumOf(even[m] + odd[m]);
    for (std::int64_t i = k; i < depth; ++i) total += a[m * aStride + i] * widened(b[i]);
    sum[m * sumStride] = total;
  }
}

template <class From>
void dotRows(const float* a, std::int64_t aStride, const From* b, std::int64_t bStride, float* sum,
             std::int64_t sumStride, std::int64_t rows, std::int64_t columns, std::int64_t depth) {
  for (std::int64_t n = 0; n < columns; ++n, b += bStride, ++sum) {
    switch (rows) {
    case 1:
      dotRow<1>(a, aStride, b, sum, sumStride, depth);
      break;
    case 2:
      dotRow<2>(a, aStride, b, sum, sumStride, depth);
      break;
    case 3:
      dotRow<3>(a, aStride, b, sum, sumStride, depth);
      break;
    default:
      dotRow<4>(a, aStride, b, sum, sumStride, depth);
      break;
    }
  }
}

} // namespace

extern const MatmulSimd matmulTable;
const MatmulSimd matmulTable{
    copyRows<float>, copyRows<std::uint16_t>, transposeRows<float>,  transposeRows<std::uint16_t>,
    finish,          dotRows<float>,          dotRows<std::uint16_t>};

} // namespace millrace::cpu::MILLRACE_ISA
