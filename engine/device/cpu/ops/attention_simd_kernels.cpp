// Compiled once per instruction set (MILLRACE_ISA). See attention_simd.h; the rules for such sources are in
// simd_vector.h.
#include "device/cpu/ops/attention_simd.h"
#include "device/cpu/ops/simd_exp2.h"
#include "device/cpu/ops/simd_vector.h"

namespace millrace::cpu::MILLRACE_ISA {

namespace {

inline IntV load(const std::int32_t* from) {
  IntV value;
  __builtin_memcpy(&value, from, sizeof value);
  return value;
}

inline IntV laneNumbers() {
  IntV numbers;
  for (int i = 0; i < lanes; ++i) numbers[i] = i;
  return numbers;
}

inline void storeOne(float* to, float value) {
  *to = value;
}

inline void storeOne(std::uint16_t* to, float value) {
  *to = narrowed(value);
}

template <class From, class To>
void scaleRows(const From* from, std::int64_t fromStride, To* to, std::int64_t toStride, std::int64_t rows,
               std::int64_t columns, float factor) {
  constexpr std::int64_t line = 64 / sizeof(From);
  for (std::int64_t r = 0; r < rows; ++r, from += fromStride, to += toStride) {
    const From* const ahead = r + 8 < rows ? from + 8 * fromStride : from; // rows lie far apart
    for (std::int64_t c = 0; c < columns; c += line) __builtin_prefetch(ahead + c);
    std::int64_t c = 0;
    for (; c + lanes <= columns; c += lanes) store(to + c, load(from + c) * factor);
    for (; c < columns; ++c) storeOne(to + c, widened(from[c]) * factor);
  }
}

template <class From>
void dotRows(const From* a, std::int64_t aStride, const From* b, std::int64_t bStride, float* dots, std::int64_t rows,
             std::int64_t columns) {
  for (std::int64_t r = 0; r < rows; ++r, a += aStride, b += bStride) {
    FloatV sum{};
    std::int64_t c = 0;
    for (; c + lanes <= columns; c += lanes) sum += load(a + c) * load(b + c);
    float total = sumOf(sum);
    for (; c < columns; ++c) total += widened(a[c]) * widened(b[c]);
    dots[r] = total;
  }
}

inline float largestOf(FloatV value) {
  float largest = value[0];
  for (int i = 1; i < lanes; ++i) largest = value[i] > largest ? value[i] : largest;
  return largest;
}

inline FloatV larger(FloatV a, FloatV b) {
  return b > a ? b : a;
}

void softmaxRow(const SoftmaxTile& tile, std::int64_t row) {
  float* const scores = tile.scores + row * tile.stride;
  const std::int64_t first = tile.first[row] < 0 ? 0 : tile.first[row];
  const std::int64_t end = tile.end[row] > tile.columns ? tile.columns : tile.end[row];
  const std::int64_t width = (tile.columns + lanes - 1) / lanes * lanes;
  if (first >= end) {
    for (std::int64_t c = 0; c < width; c += lanes) store(scores + c, FloatV{});
    return;
  }
  const FloatV lowest = FloatV{} - __builtin_inff();
  const std::int64_t firstVector = first / lanes * lanes, endVector = (end + lanes - 1) / lanes * lanes;
  // Only the vectors at the edges hold columns that are not visible.
  const auto hide = [&](std::int64_t c) {
    const IntV column = laneNumbers() + static_cast<std::int32_t>(c);
    const IntV visible = (column >= static_cast<std::int32_t>(first)) & (column < static_cast<std::int32_t>(end));
    store(scores + c, visible ? load(scores + c) : lowest);
  };
  if (first > firstVector) hide(firstVector);
  if (end < endVector) hide(endVector - lanes);

  FloatV largest = lowest;
  for (std::int64_t c = firstVector; c < endVector; c += lanes) largest = larger(largest, load(scores + c));
  const float before = tile.maximum[row];
  const float rowLargest = largestOf(largest);
  const float maximum = rowLargest > before ? rowLargest : before;

  FloatV sum{};
  for (std::int64_t c = 0; c < firstVector; c += lanes) store(scores + c, FloatV{});
  for (std::int64_t c = firstVector; c < endVector; c += lanes) {
    const FloatV probability = exp2V(load(scores + c) - maximum);
    sum += probability;
    store(scores + c, probability);
  }
  for (std::int64_t c = endVector; c < width; c += lanes) store(scores + c, FloatV{});

  if (maximum != before) {
    const float shrink = exp2V(all(before - maximum))[0]; // 0 for the first block, where before is -infinity
    float* const out = tile.out + row * tile.outStride;
    std::int64_t c = 0;
    for (; c + lanes <= tile.width; c += lanes) store(out + c, load(out + c) * shrink);
    for (; c < tile.width; ++c) out[c] *= shrink;
    tile.sum[row] *= shrink;
    tile.maximum[row] = maximum;
  }
  tile.sum[row] += sumOf(sum);
}

void softmax(const SoftmaxTile& tile) {
  for (std::int64_t row = 0; row < tile.rows; ++row) softmaxRow(tile, row);
}

template <bool masked, bool capped>
void gradientRows(const AttentionGradientTile& tile) {
  const float inverseCap = capped ? 1.0f / tile.softcap : 0.0f;
  for (std::int64_t k = 0; k < tile.keys; ++k) {
    float* const scores = tile.scores + k * tile.stride;
    float* const products = tile.products + k * tile.stride;
    const auto key = static_cast<std::int32_t>(tile.firstKey + k);
    for (std::int64_t q = 0; q < tile.queries; q += lanes) {
      const FloatV score = load(scores + q);
      FloatV probability = exp2V(score - load(tile.logSum + q));
      FloatV change = probability * (load(products + q) - load(tile.delta + q));
      if constexpr (capped) {
        const FloatV tanh = score * inverseCap;
        change *= 1.0f - tanh * tanh;
      }
      if constexpr (masked) {
        const IntV visible = (load(tile.first + q) <= key) & (load(tile.end + q) > key);
        probability = visible ? probability : FloatV{};
        change = visible ? change : FloatV{};
      }
      store(scores + q, probability);
      store(products + q, change);
    }
  }
}

void gradient(const AttentionGradientTile& tile) {
  if (tile.softcap > 0)
    tile.masked ? gradientRows<true, true>(tile) : gradientRows<false, true>(tile);
  else
    tile.masked ? gradientRows<true, false>(tile) : gradientRows<false, false>(tile);
}

void powers(float* values, std::int64_t count) {
  for (std::int64_t i = 0; i < count; i += lanes) store(values + i, exp2V(load(values + i)));
}

} // namespace

extern const AttentionSimd attentionTable;
const AttentionSimd attentionTable{scaleRows<float, float>,
                                   scaleRows<std::uint16_t, float>,
                                   scaleRows<float, float>,
                                   scaleRows<float, std::uint16_t>,
                                   dotRows<float>,
                                   dotRows<std::uint16_t>,
                                   softmax,
                                   gradient,
                                   powers};

} // namespace millrace::cpu::MILLRACE_ISA
