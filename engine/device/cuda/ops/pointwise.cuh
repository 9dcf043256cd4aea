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

template <>
struct Pointwise<Activation::Gelu> {
  static constexpr float inverseSqrt2 = 0.70710678118654752f, inverseSqrt2Pi = 0.39894228040143268f;
  static __device__ float value(float x) { return 0.5f * x * (1 + erff(x * inverseSqrt2)); }
  static __device__ float slope(float x) {
    return 0.5f * (1 + erff(x * inverseSqrt2)) + x * inverseSqrt2Pi * expf(-0.5f * x * x);
  }
};

template <>
struct Pointwise<Activation::GeluTanh> {
  static constexpr float scale = 0.79788456080286536f, cubic = 0.044715f;
  static __device__ float value(float x) { return 0.5f * x * (1 + tanhf(scale * (x + cubic * x * x * x))); }
  static __device__ float slope(float x) {
    const float t = tanhf(scale * (x + cubic * x * x * x));
    // Far out the bend is 0 while the polynomial may be infinite; the product must stay 0.
    const float bend = 1 - t * t;
    return 0.5f * (1 + t) + (bend == 0 ? 0 : 0.5f * x * bend * scale * (1 + 3 * cubic * x * x));
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
