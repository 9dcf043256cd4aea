#include "train/matrix_products.h"

#include "base/random.h"
#include "ops/ops.h"
#include "plan/head_layout.h"

#include <algorithm>
#include <chrono>

namespace millrace {

namespace {

class Lister {
 public:
  void add(const MatrixProduct& product) {
    const auto equal = [&](const MatrixProduct& other) {
      return other.m == product.m && other.n == product.n && other.k == product.k &&
             other.transposeA == product.transposeA && other.transposeB == product.transposeB &&
             other.accumulate == product.accumulate && other.wide == product.wide;
    };
    const auto known = std::find_if(m_products.begin(), m_products.end(), equal);
    if (known != m_products.end())
      known->count += product.count;
    else
      m_products.push_back(product);
  }

  /// Linear::forward, backwardInput and backwardWeight (train/linear.cpp), as often as given.
  void projection(std::int64_t tokens, std::int64_t in, std::int64_t out, bool conv1d, std::int64_t forward,
                  std::int64_t backward) {
    add({tokens, out, in, false, !conv1d, false, false, forward});
    add({tokens, in, out, false, conv1d, false, false, backward});
    if (conv1d)
      add({in, out, tokens, true, false, true, true, backward});
    else
      add({out, in, tokens, true, false, true, true, backward});
  }

  std::vector<MatrixProduct> take() {
    std::erase_if(m_products, [](const MatrixProduct& product) { return product.count == 0; });
    return std::move(m_products);
  }

 private:
  std::vector<MatrixProduct> m_products;
};

} // namespace

std::vector<MatrixProduct> stepProducts(const ModelSpec& spec, const RunShape& shape) {
  Lister lister;
  const std::int64_t tokens = shape.tokens();
  const AttentionSpec& attention = spec.attention;
  const std::int64_t qWidth = attention.heads * attention.headDim;
  const std::int64_t kvWidth = attention.kvHeads * attention.headDim;
  const std::int64_t visits = static_cast<std::int64_t>(spec.layers.size()) * shape.microBatches;
  const std::int64_t backward = shape.training ? visits : 0;
  // What backward computes a second time.
  const std::int64_t again = shape.recompute != Recompute::None ? backward : 0;
  const std::int64_t attentionAgain = shape.recompute == Recompute::Full ? backward : 0;
  const bool conv1d = spec.conv1dWeights;
  lister.projection(tokens, spec.hidden, qWidth + 2 * kvWidth, conv1d, visits + again, backward);
  lister.projection(tokens, qWidth, spec.hidden, conv1d, visits + attentionAgain, backward);
  lister.projection(tokens, spec.hidden, spec.mlp.gated ? 2 * spec.mlp.inner : spec.mlp.inner, conv1d, visits + again,
                    backward);
  lister.projection(tokens, spec.mlp.inner, spec.hidden, conv1d, visits, backward);

  const std::int64_t chunk = HeadLayout(spec, shape).chunk;
  for (std::int64_t begin = 0; begin < tokens; begin += chunk) {
    const std::int64_t n = std::min(chunk, tokens - begin);
    lister.add({n, spec.vocabulary, spec.hidden, false, true, false, true, shape.microBatches});
    if (!shape.training) continue;
    lister.add({spec.vocabulary, spec.hidden, n, true, false, true, true, shape.microBatches});
    lister.add({n, spec.hidden, spec.vocabulary, false, false, false, false, shape.microBatches});
  }
  return lister.take();
}

double productFlops(const std::vector<MatrixProduct>& products) {
  double flops = 0;
  for (const MatrixProduct& product : products) flops += product.flops() * static_cast<double>(product.count);
  return flops;
}

ProductTimer::ProductTimer(Device& device, std::vector<MatrixProduct> products, Precision precision)
    : m_products(std::move(products)),
      m_type(precision == Precision::Fp32 ? DType::F32 : DType::BF16),
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
    for (std::int64_t i = 0; i < product.count; ++i) ops::matmul(*m_stream, args);
  }
  m_stream->synchronize();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

} // namespace millrace
