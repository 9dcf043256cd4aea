#include "device/cpu/ops/cross_entropy_kernels.h"

#include "device/cpu/ops/simd_math.h"

namespace millrace::cpu::MILLRACE_ISA {
namespace {

MILLRACE_INLINE float largestOf(F32v value) {
  float largest = value[0];
  for (int i = 1; i < lanes; ++i) largest = value[i] > largest ? value[i] : largest;
  return largest;
}

struct SoftmaxSum {
  float largest = 0;
  double sum = 0; ///< of exp(logit - largest)
};

/// One pass over memory (Milakov and Gimelshein 2018): blocks that stay in the nearest cache are read for their
/// maximum, then for their sum; what was summed before is rescaled when the maximum grows. NaN anywhere makes the sum
/// NaN.
SoftmaxSum softmaxSum(const float* x, std::int64_t count) {
  constexpr std::int64_t block = 2048;
  SoftmaxSum result;
  for (std::int64_t begin = 0; begin < count; begin += block) {
    const std::int64_t n = count - begin < block ? count - begin : block;
    // Not -inf: -inf - -inf would be NaN.
    const F32v low = splat(begin == 0 ? -__FLT_MAX__ : result.largest);
    F32v largest = low;
    overRow(n, [&](std::int64_t i, auto part) {
      const F32v value = keep(load(x + begin + i, part), low, part);
      largest = larger(value, largest);
    });
    const float top = largestOf(largest);
    const float sum = sumRow(
        n, [&](std::int64_t i, auto part) { return keep(expOf(load(x + begin + i, part) - top), F32v{}, part); });
    if (begin != 0 && top > result.largest)
      result.sum *= __builtin_exp(static_cast<double>(result.largest) - static_cast<double>(top));
    result.largest = top;
    result.sum += static_cast<double>(sum);
  }
  return result;
}

/// dLogits may begin where the logits do: every register is read before anything is written at or behind it.
template <class T, bool capped>
void writeGradient(const float* x, T* dLogits, std::int64_t count, const SoftmaxSum& softmax, float scale,
                   float softcap, std::int64_t target) {
  const float factor = static_cast<float>(static_cast<double>(scale) / softmax.sum);
  // Read before it may be overwritten, and in fp64: where the probability is near 1 most of it cancels.
  const double probability =
      __builtin_exp(static_cast<double>(x[target]) - static_cast<double>(softmax.largest)) / softmax.sum;
  const float largest = softmax.largest;
  const float inverse = capped ? 1.0f / softcap : 0.0f;
  // Of tanh: 1 - tanh^2.
  const auto slope = [&](auto logit) { return 1.0f - logit * inverse * (logit * inverse); };
  float atTarget = static_cast<float>((probability - 1.0) * static_cast<double>(scale));
  if constexpr (capped) atTarget *= slope(x[target]);
  overRow(count, [&](std::int64_t i, auto part) {
    const F32v logit = load(x + i, part);
    F32v gradient = expOf(logit - largest) * factor;
    if constexpr (capped) gradient *= slope(logit);
    store(dLogits + i, gradient, part);
  });
  store(dLogits + target, splat(atTarget), Part{1});
}

template <class T>
void writeGradient(const CrossEntropyRows& args, const float* x, T* dLogits, const SoftmaxSum& softmax,
                   std::int64_t target) {
  if (args.softcap > 0)
    writeGradient<T, true>(x, dLogits, args.vocabulary, softmax, args.scale, args.softcap, target);
  else
    writeGradient<T, false>(x, dLogits, args.vocabulary, softmax, args.scale, args.softcap, target);
}

template <class T>
void writeZero(T* dLogits, std::int64_t count) {
  overRow(count, [&](std::int64_t i, auto part) { store(dLogits + i, F32v{}, part); });
}

} // namespace

void crossEntropyRows(const CrossEntropyRows& args, std::int64_t begin, std::int64_t end) {
  const std::int64_t count = args.vocabulary;
  for (std::int64_t c = begin; c < end; ++c) {
    float* x = args.logits + c * args.stride;
    auto* narrowGradient = reinterpret_cast<BFloat16*>(x);
    const std::int64_t target = args.targets[c];
    if (target < 0) {
      args.loss[c] = 0;
      if (args.gradient == LogitsGradient::F32) writeZero(x, count);
      if (args.gradient == LogitsGradient::BF16) writeZero(narrowGradient, count);
      continue;
    }
    const SoftmaxSum softmax = softmaxSum(x, count);
    args.loss[c] = static_cast<float>((static_cast<double>(softmax.largest) - static_cast<double>(x[target])) +
                                      __builtin_log(softmax.sum));
    if (args.gradient == LogitsGradient::F32) writeGradient(args, x, x, softmax, target);
    if (args.gradient == LogitsGradient::BF16) writeGradient(args, x, narrowGradient, softmax, target);
  }
}

} // namespace millrace::cpu::MILLRACE_ISA
