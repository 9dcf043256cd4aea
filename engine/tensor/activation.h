// The activation functions that kernels know.
#pragma once

#include <cstdint>

namespace millrace {

enum class Activation : std::uint8_t {
  Silu,     ///< x * sigmoid(x); also called swish
  Gelu,     ///< exact, by erf
  GeluTanh, ///< gelu_new, gelu_pytorch_tanh
  Relu,
  ReluSquared, ///< relu2
};

} // namespace millrace
