// The vectorised pieces around the tile products: widening, transposing, the epilogue, and products with a handful of
// rows. Plain functions on the calling thread; strides are in elements. bf16 is passed as its raw 16 bits.
#pragma once

#include "device/cpu/ops/isa.h"

#include <cstdint>

namespace millrace::cpu {

/// c = sum [+ bias] [+ residual], rounded once when c is bf16.
struct MatmulEpilogue {
  const float* sum = nullptr; // (rows, columns) fp32
  std::int64_t sumStride = 0;
  const void* bias = nullptr;     // (columns) fp32 or bf16; optional
  const void* residual = nullptr; // (rows, columns) fp32 or bf16; optional; may be c
  std::int64_t residualStride = 0;
  bool operandsBf16 = false; // bias and residual
  void* c = nullptr;         // (rows, columns) fp32 or bf16
  std::int64_t cStride = 0;
  bool cBf16 = false;
  std::int64_t rows = 0, columns = 0;
};

struct MatmulSimd {
  /// to[r][c] = from[r][c]
  void (*copy)(const float* from, std::int64_t fromStride, float* to, std::int64_t toStride, std::int64_t rows,
               std::int64_t columns);
  void (*widen)(const std::uint16_t* from, std::int64_t fromStride, float* to, std::int64_t toStride, std::int64_t rows,
                std::int64_t columns);
  /// to[c][r] = from[r][c]; rows and columns are those of from
  void (*transpose)(const float* from, std::int64_t fromStride, float* to, std::int64_t toStride, std::int64_t rows,
                    std::int64_t columns);
  void (*transposeWiden)(const std::uint16_t* from, std::int64_t fromStride, float* to, std::int64_t toStride,
                         std::int64_t rows, std::int64_t columns);
  void (*epilogue)(const MatmulEpilogue& args);
  /// sum[m][n] = a[m] . b[n] over depth elements, for m < rows (1 to 4) and n < columns. a (rows, depth) fp32.
  void (*dot)(const float* a, std::int64_t aStride, const float* b, std::int64_t bStride, float* sum,
              std::int64_t sumStride, std::int64_t rows, std::int64_t columns, std::int64_t depth);
  void (*dotWiden)(const float* a, std::int64_t aStride, const std::uint16_t* b, std::int64_t bStride, float* sum,
                   std::int64_t sumStride, std::int64_t rows, std::int64_t columns, std::int64_t depth);
};

/// The table of one instruction set, which must be supported.
const MatmulSimd& matmulSimd(Isa isa);
/// The table of the best one.
const MatmulSimd& matmulSimd();

} // namespace millrace::cpu
