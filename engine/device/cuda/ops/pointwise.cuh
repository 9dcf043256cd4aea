// Activation functions and their derivatives in fp32.
#pragma once

#include "tensor/activation.h"

#include <cuda_runtime.h>

namespace millrace::cuda {

/// value(x) and slope(x) of an activation.
template <Activation activation>
struct Pointwise;

template <>
struct Pointwise<Activation::Silu> {
  static __device__ float value(float x) { return x / (1 + expf(-x)); }
  static __device__ float slope(float x) {
    const float sigmoid = 1 / (1 + expf(-x));
    return sigmoid * (1 + x * (1 - sigmoid));
  }
};

// Not by 1 + erf or 1 + tanh: far to the left they would lose every digit.
template <>
struct Pointwise<Activation::Gelu> {
  static constexpr float inverseSqrt2Pi = 0.39894228040143268f;
  static __device__ float value(float x) { return x * normcdff(x); }
  static __device__ float slope(float x) { return normcdff(x) + x * inverseSqrt2Pi * expf(-0.5f * x * x); }
};

// (1 + tanh(u)) / 2 is the logistic function of 2u.
template <>
struct Pointwise<Activation::GeluTanh> {
  static constexpr float linear = 1.59576912f, cubic = 0.0713548162f;
  static __device__ float value(float x) { return x / (1 + expf(-x * (linear + cubic * x * x))); }
  static __device__ float slope(float x) {
    const float sigmoid = 1 / (1 + expf(-x * (linear + cubic * x * x)));
    // Far out the bend is 0 while the polynomial may be infinite; the product must stay 0.
    const float bend = sigmoid * (1 - sigmoid);
    return sigmoid + (bend == 0 ? 0 : x * (linear + 3 * cubic * x * x) * bend);
  }
};

template <>
struct Pointwise<Activation::Relu> {
  // NaN stays NaN.
  static __device__ float value(float x) { return x < 0 ? 0 : x; }
  static __device__ float slope(float x) { return x > 0 ? 1 : 0; }
};

template <>
struct Pointwise<Activation::ReluSquared> {
  static __device__ float value(float x) { return x < 0 ? 0 : x * x; }
  static __device__ float slope(float x) { return x > 0 ? 2 * x : 0; }
};

/// Calls function(Pointwise<...>{}) for the activation.
template <class Function>
void dispatchPointwise(Activation activation, Function&& function) {
  switch (activation) {
  case Activation::Silu:
    return function(Pointwise<Activation::Silu>{});
  case Activation::Gelu:
    return function(Pointwise<Activation::Gelu>{});
  case Activation::GeluTanh:
    return function(Pointwise<Activation::GeluTanh>{});
  case Activation::Relu:
    return function(Pointwise<Activation::Relu>{});
  case Activation::ReluSquared:
    return function(Pointwise<Activation::ReluSquared>{});
  }
}

} // namespace millrace::cuda
