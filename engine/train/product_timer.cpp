#include "train/product_timer.h"

#include "base/random.h"
#include "ops/ops.h"

#include <algorithm>
#include <chrono>

namespace millrace {

ProductTimer::ProductTimer(Device& device, std::vector<MatrixProduct> products, Precision precision)
    : m_products(std::move(products)),
      m_type(precision == Precision::Bf16 ? DType::BF16 : DType::F32),
      m_tf32(precision == Precision::Tf32),
      m_stream(device.createStream("products")) {}

Result<ProductTimer> ProductTimer::create(Device& device, std::vector<MatrixProduct> products, Precision precision) {
  ProductTimer timer(device, std::move(products), precision);
  Bytes a = 1, b = 1, c = 1;
  const Bytes width = bytesPerElement(timer.m_type);
  for (const MatrixProduct& product : timer.m_products) {
    a = std::max(a, product.m * product.k * width);
    b = std::max(b, product.k * product.n * width);
    c = std::max(c, product.m * product.n * 4);
  }
  MILLRACE_TRY(timer.m_a, device.allocate(alignUp(a), MemorySpace::Device, "operands of matrix products"));
  MILLRACE_TRY(timer.m_b, device.allocate(alignUp(b), MemorySpace::Device, "operands of matrix products"));
  MILLRACE_TRY(timer.m_c, device.allocate(alignUp(c), MemorySpace::Device, "results of matrix products"));
  // Numbers of ordinary size: zeros and denormals are multiplied at another speed.
  Random random(1, "products");
  std::vector<std::byte> values(std::size_t{4} << 20);
  const auto count = values.size() / static_cast<std::size_t>(width);
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = static_cast<float>(random.uniform() - 0.5);
    if (timer.m_type == DType::F32)
      reinterpret_cast<float*>(values.data())[i] = value;
    else
      reinterpret_cast<BFloat16*>(values.data())[i] = toBFloat16(value);
  }
  for (const Buffer* buffer : {&timer.m_a, &timer.m_b})
    for (Bytes at = 0; at < buffer->bytes(); at += static_cast<Bytes>(values.size()))
      timer.m_stream->copy(buffer->data() + at, values.data(),
                           std::min(static_cast<Bytes>(values.size()), buffer->bytes() - at));
  timer.m_stream->synchronize();
  return timer;
}

double ProductTimer::run() {
  m_stream->zero(m_c.data(), m_c.bytes()); // sums start anew, so that they stay ordinary numbers
  m_stream->synchronize();
  const auto begin = std::chrono::steady_clock::now();
  for (const MatrixProduct& product : m_products) {
    MatmulArgs args;
    args.a =
        TensorView(m_a.data(), m_type, product.transposeA ? Shape{product.k, product.m} : Shape{product.m, product.k});
    args.b =
        TensorView(m_b.data(), m_type, product.transposeB ? Shape{product.n, product.k} : Shape{product.k, product.n});
    args.c = TensorView(m_c.data(), product.wide ? DType::F32 : m_type, Shape{product.m, product.n});
    args.transposeA = product.transposeA;
    args.transposeB = product.transposeB;
    args.accumulate = product.accumulate;
    args.tf32 = m_tf32;
    for (std::int64_t i = 0; i < product.count; ++i) ops::matmul(*m_stream, args);
  }
  m_stream->synchronize();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

} // namespace millrace
