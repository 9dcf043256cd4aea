#include "probe/product_rates.h"

#include "base/random.h"
#include "ops/matmul.h"

#include <algorithm>
#include <cmath>

namespace millrace {

namespace {

/// Three square matrices in one allocation.
class Products {
 public:
  static Result<Products> create(Device& device, Precision precision, Bytes bytes) {
    Products products;
    products.m_type = precision == Precision::Bf16 ? DType::BF16 : DType::F32;
    products.m_tf32 = precision == Precision::Tf32;
    products.m_stream = device.createStream("products");
    MILLRACE_TRY(products.m_memory, device.allocate(bytes, MemorySpace::Device, "the measurement of products"));
    return products;
  }

  /// Zeros and denormals are multiplied at another speed.
  Status fill(Device& device) {
    MILLRACE_TRY(const Buffer staging, device.allocate(MiB, MemorySpace::Host, "operands of measured products"));
    Random random(1, "products");
    const Bytes width = bytesPerElement(m_type);
    for (Bytes i = 0; i < staging.bytes() / width; ++i) {
      const auto value = static_cast<float>(random.uniform() - 0.5);
      if (m_type == DType::F32)
        reinterpret_cast<float*>(staging.data())[i] = value;
      else
        reinterpret_cast<BFloat16*>(staging.data())[i] = toBFloat16(value);
    }
    for (Bytes at = 0; at < m_memory.bytes(); at += staging.bytes())
      m_stream->copy(m_memory.data() + at, staging.data(), std::min(staging.bytes(), m_memory.bytes() - at));
    m_stream->synchronize();
    return {};
  }

  void run(std::int64_t side, int times) {
    const Bytes matrix = alignUp(side * side * bytesPerElement(m_type));
    const auto view = [&](int i) { return TensorView(m_memory.data() + i * matrix, m_type, Shape{side, side}); };
    MatmulArgs args;
    args.a = view(0);
    args.b = view(1);
    args.c = view(2);
    args.transposeB = true;
    args.tf32 = m_tf32;
    for (int i = 0; i < times; ++i) ops::matmul(*m_stream, args);
    m_stream->synchronize();
  }

 private:
  DType m_type = DType::F32;
  bool m_tf32 = false;
  Buffer m_memory;
  std::unique_ptr<Stream> m_stream;
};

Bytes bytesOf(std::int64_t side, Bytes bytesPerElement) {
  return 3 * alignUp(side * side * bytesPerElement);
}

} // namespace

std::int64_t productSide(double seconds, Bytes bytes, Bytes bytesPerElement,
                         const std::function<double(std::int64_t side)>& secondsOf) {
  std::int64_t side = leastProductSide;
  while (2 * side <= greatestProductSide && bytesOf(2 * side, bytesPerElement) <= bytes &&
         8 * secondsOf(side) <= seconds)
    side *= 2;
  return side;
}

Result<ProductRate> measureProducts(Device& device, Precision precision, double seconds, Bytes bytes,
                                    const ProbeClock& clock) {
  const DType type = precision == Precision::Bf16 ? DType::BF16 : DType::F32;
  const Bytes width = bytesPerElement(type);
  const Bytes most = std::min(bytes, bytesOf(greatestProductSide, width));
  MILLRACE_TRY(Products products,
               Products::create(device, precision, std::max(most, bytesOf(leastProductSide, width))));
  MILLRACE_CHECK(products.fill(device));
  const auto secondsOf = [&](std::int64_t side, int times) {
    const double begin = clock();
    products.run(side, times);
    return clock() - begin;
  };
  // A quarter of the time for one product leaves room for a few rounds of it.
  const std::int64_t side = productSide(seconds / 4, most, width, [&](std::int64_t tried) {
    products.run(tried, 1); // a shape's first product prepares its kernel
    return secondsOf(tried, 1);
  });
  // Rounds long enough that submitting and waiting do not show.
  const double one = std::max(secondsOf(side, 1), 1e-6);
  const int times = std::clamp(static_cast<int>(std::lround(seconds / 20 / one)), 1, 1000);
  std::vector<double> rounds;
  RoundLoop loop({3, 1000, seconds}, clock);
  while (loop.next()) {
    const double taken = secondsOf(side, times);
    if (!loop.warmUp()) rounds.push_back(taken);
  }
  const auto n = static_cast<double>(side);
  return ProductRate{side, 2 * n * n * n * times / median(rounds)};
}

} // namespace millrace
