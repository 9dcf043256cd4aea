// How long a step's matrix products take alone.
#pragma once

#include "device/device.h"
#include "plan/matrix_products.h"

#include <vector>

namespace millrace {

/// Runs products on random operands through the device's matmul, as often as one step does, and measures. Its memory is
/// taken from the device at construction.
class ProductTimer {
 public:
  /// DoesNotFit when the device has no room for the largest operands.
  static Result<ProductTimer> create(Device& device, std::vector<MatrixProduct> products, Precision precision);

  /// Seconds of one step's products. Blocks.
  double run();

 private:
  ProductTimer(Device& device, std::vector<MatrixProduct> products, Precision precision);

  std::vector<MatrixProduct> m_products;
  DType m_type;
  bool m_tf32;
  Buffer m_a, m_b, m_c;
  std::unique_ptr<Stream> m_stream;
};

} // namespace millrace
