// What a run computes in, how its gradients wait for the clip factor, what it keeps for backward. Values shared by
// projects and plans.
#pragma once

#include <string_view>

namespace millrace {

enum class Precision {
  Fp32,
  Tf32, ///< fp32, with the factors of matrix products rounded to 10 bits of fraction where a GPU multiplies them
  Bf16, ///< computes in bf16 with an fp32 master weight
};

enum class ClipMode {
  Exact,     ///< gradients wait in fp32 until the norm of all is known: 4 bytes a parameter
  ExactBf16, ///< the same, waiting in bf16: 2 bytes a parameter
  Off, ///< no clipping; the gradients of most layers do not wait, and a step that is not finite cannot be taken back
};

/// What backward finds kept: the layer's input alone, also what is dear to recompute, or everything.
enum class Recompute { Full, Selective, None };

/// "fp32", "tf32", "bf16".
std::string_view toString(Precision precision);
/// "exact", "exact-bf16", "off".
std::string_view toString(ClipMode mode);
/// "full", "selective", "none".
std::string_view toString(Recompute policy);

} // namespace millrace
