// The matrix products of a training step, as the layer and head programs submit them: what nothing that trains the
// model can be faster than. Pure.
#pragma once

#include "model/model_spec.h"
#include "plan/run_shape.h"

#include <cstdint>
#include <vector>

namespace millrace {

struct MatrixProduct {
  std::int64_t m = 0, n = 0, k = 0;
  bool transposeA = false;
  bool transposeB = false;
  bool accumulate = false; ///< fp32 sums are added to
  bool wide = false;       ///< the result is fp32 whatever the precision
  std::int64_t count = 0;  ///< in one step
  double flops() const { return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k); }
};

/// All products of one step, equal ones together, in the order of their first use. Attention has none: its products are
/// part of its own kernel. Pure.
std::vector<MatrixProduct> stepProducts(const ModelSpec& spec, const RunShape& shape);

/// Floating-point operations of one step's products.
double productFlops(const std::vector<MatrixProduct>& products);

} // namespace millrace
