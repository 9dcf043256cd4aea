#include "device/cpu/ops/norm_kernels.h"

#include "device/cpu/ops/simd.h"

namespace millrace::cpu::MILLRACE_ISA {
namespace {

MILLRACE_INLINE void setZero(float* values, std::int64_t count) {
  overRow(count, [&](std::int64_t i, auto part) { store(values + i, F32v{}, part); });
}

MILLRACE_INLINE float inverseRoot(float meanSquare, float epsilon) {
  return static_cast<float>(1.0 / __builtin_sqrt(static_cast<double>(meanSquare) + static_cast<double>(epsilon)));
}

template <class T, bool hasResidual>
void rmsForward(const NormRows& args, std::int64_t begin, std::int64_t end) {
  const T* weight = static_cast<const T*>(args.weight);
  const std::int64_t n = args.width;
  for (std::int64_t r = begin; r < end; ++r) {
    const T* x = rowOf<const T>(args.x, r);
    const T* residual = hasResidual ? rowOf<const T>(args.residual, r) : nullptr;
    T* y = rowOf<T>(args.y, r);
    const float squares = sumRow(n, [&](std::int64_t i, auto part) {
      const F32v value = load(x + i, part);
      return value * value;
    });
    const float rstd = inverseRoot(squares / static_cast<float>(n), args.epsilon);
    args.rstd[r] = rstd;
    overRow(n, [&](std::int64_t i, auto part) {
      F32v value = load(x + i, part) * rstd * (load(weight + i, part) + args.weightOffset);
      if constexpr (hasResidual) value += load(residual + i, part);
      store(y + i, value, part);
    });
  }
}

template <class T, bool hasResidual>
void rmsBackward(const NormBackwardRows& args, std::int64_t begin, std::int64_t end, float* dWeight) {
  const T* weight = static_cast<const T*>(args.weight);
  const std::int64_t n = args.width;
  setZero(dWeight, n);
  for (std::int64_t r = begin; r < end; ++r) {
    const T* dY = rowOf<const T>(args.dY, r);
    const T* x = rowOf<const T>(args.x, r);
    const T* dResidual = hasResidual ? rowOf<const T>(args.dResidual, r) : nullptr;
    T* dX = rowOf<T>(args.dX, r);
    const float rstd = args.rstd[r];
    const float offset = args.weightOffset;
    const float dot = sumRow(n, [&](std::int64_t i, auto part) {
      return load(dY + i, part) * (load(weight + i, part) + offset) * load(x + i, part);
    });
    const float share = dot * rstd * rstd / static_cast<float>(n);
    overRow(n, [&](std::int64_t i, auto part) {
      const F32v upstream = load(dY + i, part);
      const F32v input = load(x + i, part);
      store(dWeight + i, load(dWeight + i, part) + upstream * (input * rstd), part);
      F32v gradient = (upstream * (load(weight + i, part) + offset) - input * share) * rstd;
      if constexpr (hasResidual) gradient += load(dResidual + i, part);
      store(dX + i, gradient, part);
    });
  }
}

template <class T>
void layerForward(const NormRows& args, std::int64_t begin, std::int64_t end) {
  const T* weight = static_cast<const T*>(args.weight);
  const T* bias = static_cast<const T*>(args.bias);
  const std::int64_t n = args.width;
  for (std::int64_t r = begin; r < end; ++r) {
    const T* x = rowOf<const T>(args.x, r);
    T* y = rowOf<T>(args.y, r);
    const float mean = sumRow(n, [&](std::int64_t i, auto part) { return load(x + i, part); }) / static_cast<float>(n);
    const float squares = sumRow(n, [&](std::int64_t i, auto part) {
      const F32v centred = keep(load(x + i, part) - mean, F32v{}, part);
      return centred * centred;
    });
    const float rstd = inverseRoot(squares / static_cast<float>(n), args.epsilon);
    args.mean[r] = mean;
    args.rstd[r] = rstd;
    overRow(n, [&](std::int64_t i, auto part) {
      store(y + i, (load(x + i, part) - mean) * rstd * load(weight + i, part) + load(bias + i, part), part);
    });
  }
}

template <class T, bool hasResidual>
void layerBackward(const NormBackwardRows& args, std::int64_t begin, std::int64_t end, float* dWeight, float* dBias) {
  const T* weight = static_cast<const T*>(args.weight);
  const std::int64_t n = args.width;
  setZero(dWeight, n);
  setZero(dBias, n);
  for (std::int64_t r = begin; r < end; ++r) {
    const T* dY = rowOf<const T>(args.dY, r);
    const T* x = rowOf<const T>(args.x, r);
    const T* dResidual = hasResidual ? rowOf<const T>(args.dResidual, r) : nullptr;
    T* dX = rowOf<T>(args.dX, r);
    const float rstd = args.rstd[r], mean = args.mean[r];
    const float meanGradient =
        sumRow(n, [&](std::int64_t i, auto part) { return load(dY + i, part) * load(weight + i, part); }) /
        static_cast<float>(n);
    const float meanProduct =
        sumRow(n,
               [&](std::int64_t i, auto part) {
                 return load(dY + i, part) * load(weight + i, part) * ((load(x + i, part) - mean) * rstd);
               }) /
        static_cast<float>(n);
    overRow(n, [&](std::int64_t i, auto part) {
      const F32v upstream = load(dY + i, part);
      const F32v normed = (load(x + i, part) - mean) * rstd;
      store(dWeight + i, load(dWeight + i, part) + upstream * normed, part);
      store(dBias + i, load(dBias + i, part) + upstream, part);
      F32v gradient = (upstream * load(weight + i, part) - meanGradient - normed * meanProduct) * rstd;
      if constexpr (hasResidual) gradient += load(dResidual + i, part);
      store(dX + i, gradient, part);
    });
  }
}

} // namespace

void rmsNormRows(const NormRows& args, std::int64_t begin, std::int64_t end) {
  const bool residual = args.residual.data != nullptr;
  if (args.bf16)
    residual ? rmsForward<BFloat16, true>(args, begin, end) : rmsForward<BFloat16, false>(args, begin, end);
  else
    residual ? rmsForward<float, true>(args, begin, end) : rmsForward<float, false>(args, begin, end);
}

void rmsNormBackwardRows(const NormBackwardRows& args, std::int64_t begin, std::int64_t end, float* dWeight) {
  const bool residual = args.dResidual.data != nullptr;
  if (args.bf16)
    residual ? rmsBackward<BFloat16, true>(args, begin, end, dWeight)
             : rmsBackward<BFloat16, false>(args, begin, end, dWeight);
  else
    residual ? rmsBackward<float, true>(args, begin, end, dWeight)
             : rmsBackward<float, false>(args, begin, end, dWeight);
}

void layerNormRows(const NormRows& args, std::int64_t begin, std::int64_t end) {
  if (args.bf16)
    layerForward<BFloat16>(args, begin, end);
  else
    layerForward<float>(args, begin, end);
}

void layerNormBackwardRows(const NormBackwardRows& args, std::int64_t begin, std::int64_t end, float* dWeight,
                           float* dBias) {
  const bool residual = args.dResidual.data != nullptr;
  if (args.bf16)
    residual ? layerBackward<BFloat16, true>(args, begin, end, dWeight, dBias)
             : layerBackward<BFloat16, false>(args, begin, end, dWeight, dBias);
  else
    residual ? layerBackward<float, true>(args, begin, end, dWeight, dBias)
             : layerBackward<float, false>(args, begin, end, dWeight, dBias);
}

} // namespace millrace::cpu::MILLRACE_ISA
