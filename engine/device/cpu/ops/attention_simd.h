// The vectorised pieces of attention between its matrix products. Plain functions on the calling thread; strides are in
// elements; bf16 is passed as its raw 16 bits. Scores are in units of log 2, so that probabilities are powers of two.
#pragma once

#include "device/cpu/ops/isa.h"

#include <cstdint>

namespace millrace::cpu {

/// Row strides of tiles are multiples of this, so that whole vectors may be read and written past the last column.
constexpr std::int64_t attentionPadding = 16;

/// One block of keys for some rows of queries: the online softmax step (Milakov and Gimelshein 2018; Dao 2022).
struct SoftmaxTile {
  float* scores = nullptr; // (rows, columns): scores in, unnormalised probabilities out, zero where not visible
  std::int64_t stride = 0;
  std::int64_t rows = 0, columns = 0;
  const std::int32_t* first = nullptr; // (rows): visible columns are [first, end), cut to the tile
  const std::int32_t* end = nullptr;
  float* maximum = nullptr; // (rows): largest score so far
  float* sum = nullptr;     // (rows): sum of probabilities so far
  float* out = nullptr;     // (rows, width): sums so far, rescaled when a maximum grows
  std::int64_t outStride = 0;
  std::int64_t width = 0;
};

/// One block of keys and queries of the backward pass, transposed: keys down, queries across.
struct AttentionGradientTile {
  float* scores = nullptr;   // (keys, queries): scores in, probabilities out
  float* products = nullptr; // (keys, queries): value . dOut in, gradients of the scores out
  std::int64_t stride = 0;
  std::int64_t keys = 0, queries = 0;
  std::int64_t firstKey = 0;           // number of the first row
  bool masked = false;                 // whether some query does not see some key
  const std::int32_t* first = nullptr; // (queries): keys seen are [first, end)
  const std::int32_t* end = nullptr;
  const float* logSum = nullptr; // (queries): log2 of the sum of the exponentials
  const float* delta = nullptr;  // (queries): dOut . out
  float softcap = 0;             // above 0: the scores are softcap * tanh(what they were / softcap)
};

struct AttentionSimd {
  /// to = from * factor
  void (*pack)(const float* from, std::int64_t fromStride, float* to, std::int64_t toStride, std::int64_t rows,
               std::int64_t columns, float factor);
  void (*packWiden)(const std::uint16_t* from, std::int64_t fromStride, float* to, std::int64_t toStride,
                    std::int64_t rows, std::int64_t columns, float factor);
  void (*unpack)(const float* from, std::int64_t fromStride, float* to, std::int64_t toStride, std::int64_t rows,
                 std::int64_t columns, float factor);
  void (*unpackNarrow)(const float* from, std::int64_t fromStride, std::uint16_t* to, std::int64_t toStride,
                       std::int64_t rows, std::int64_t columns, float factor);
  /// dots[r] = a[r] . b[r]
  void (*rowDots)(const float* a, std::int64_t aStride, const float* b, std::int64_t bStride, float* dots,
                  std::int64_t rows, std::int64_t columns);
  void (*rowDotsWiden)(const std::uint16_t* a, std::int64_t aStride, const std::uint16_t* b, std::int64_t bStride,
                       float* dots, std::int64_t rows, std::int64_t columns);
  void (*softmax)(const SoftmaxTile& tile);
  void (*gradient)(const AttentionGradientTile& tile);
  /// values[i] = 2^values[i], within 2 units in the last place; 0 below 2^-126; count a multiple of attentionPadding.
  void (*powersOfTwo)(float* values, std::int64_t count);
};

/// The table of one instruction set, which must be supported.
const AttentionSimd& attentionSimd(Isa isa);
/// The table of the best one.
const AttentionSimd& attentionSimd();

} // namespace millrace::cpu
