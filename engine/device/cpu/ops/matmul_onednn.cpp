#include "device/cpu/ops/matmul_onednn.h"

#include "base/result.h"

#include <array>
#include <fmt/format.h>
#include <map>
#include <omp.h>
#include <oneapi/dnnl/dnnl.hpp>

namespace millrace::cpu {

namespace {

/// oneDNN asks OpenMP how many threads to use, which is a setting of each calling thread.
void stayOnThisThread() {
  thread_local const bool done = [] {
    omp_set_num_threads(1);
    return true;
  }();
  static_cast<void>(done);
}

struct ProductKey {
  bool transposeA, transposeB, accumulate;
  std::int64_t m, n, k, lda, ldb, ldc;
  auto operator<=>(const ProductKey&) const = default;
};

struct PreparedProduct {
  dnnl::memory::desc a, b, c;
  dnnl::matmul product;
};

const dnnl::engine& cpuEngine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

PreparedProduct prepare(const ProductKey& key) {
  using Type = dnnl::memory::data_type;
  using Dims = dnnl::memory::dims;
  const Dims aStrides = key.transposeA ? Dims{1, key.lda} : Dims{key.lda, 1};
  const Dims bStrides = key.transposeB ? Dims{1, key.ldb} : Dims{key.ldb, 1};
  PreparedProduct prepared;
  prepared.a = dnnl::memory::desc({key.m, key.k}, Type::bf16, aStrides);
  prepared.b = dnnl::memory::desc({key.k, key.n}, Type::bf16, bStrides);
  prepared.c = dnnl::memory::desc({key.m, key.n}, Type::f32, Dims{key.ldc, 1});
  dnnl::primitive_attr attributes;
  if (key.accumulate) {
    dnnl::post_ops sum;
    sum.append_sum(1.0f);
    attributes.set_post_ops(sum);
  }
#if DNNL_VERSION_MAJOR >= 3
  const dnnl::matmul::primitive_desc description(cpuEngine(), prepared.a, prepared.b, prepared.c, attributes);
#else
  const dnnl::matmul::primitive_desc description(dnnl::matmul::desc(prepared.a, prepared.b, prepared.c), attributes,
                                                 cpuEngine());
#endif
  prepared.product = dnnl::matmul(description);
  return prepared;
}

} // namespace

void sgemm(bool transposeA, bool transposeB, std::int64_t m, std::int64_t n, std::int64_t k, const float* a,
           std::int64_t lda, const float* b, std::int64_t ldb, bool accumulate, float* c, std::int64_t ldc) {
  stayOnThisThread();
  const dnnl_status_t status = dnnl_sgemm(transposeA ? 'T' : 'N', transposeB ? 'T' : 'N', m, n, k, 1.0f, a, lda, b, ldb,
                                          accumulate ? 1.0f : 0.0f, c, ldc);
  if (status != dnnl_success) {
    throw EngineException(Error{ErrorKind::Failed, fmt::format("oneDNN refused a matrix product of {} x {} x {} "
                                                               "(leading dimensions {}, {}, {}): status {}",
                                                               m, n, k, lda, ldb, ldc, static_cast<int>(status))});
  }
}

bool hasNativeBf16() {
  static const bool native = [] {
    const dnnl::cpu_isa isa = dnnl::get_effective_cpu_isa();
    // With AVX512-BF16 alone oneDNN sums in an order that depends on the leading dimensions, and the bits with it.
    if (isa != dnnl::cpu_isa::avx512_core_amx) return false;
    try {
      stayOnThisThread();
      prepare(ProductKey{false, true, false, 64, 64, 64, 64, 64, 64});
      return true;
    } catch (const dnnl::error&) {
      return false;
    }
  }();
  return native;
}

void bf16Gemm(bool transposeA, bool transposeB, std::int64_t m, std::int64_t n, std::int64_t k, const std::uint16_t* a,
              std::int64_t lda, const std::uint16_t* b, std::int64_t ldb, bool accumulate, float* c, std::int64_t ldc) {
  stayOnThisThread();
  constexpr std::size_t keptProducts = 64;
  thread_local std::map<ProductKey, PreparedProduct> products;
  thread_local dnnl::stream stream(cpuEngine());
  try {
    const ProductKey key{transposeA, transposeB, accumulate, m, n, k, lda, ldb, ldc};
    auto found = products.find(key);
    if (found == products.end()) {
      if (products.size() >= keptProducts) products.clear();
      found = products.emplace(key, prepare(key)).first;
    }
    const PreparedProduct& prepared = found->second;
    const auto memory = [](const dnnl::memory::desc& description, const void* data) {
      return dnnl::memory(description, cpuEngine(), const_cast<void*>(data));
    };
    prepared.product.execute(stream, {{DNNL_ARG_SRC, memory(prepared.a, a)},
                                      {DNNL_ARG_WEIGHTS, memory(prepared.b, b)},
                                      {DNNL_ARG_DST, memory(prepared.c, c)}});
    stream.wait();
  } catch (const dnnl::error& error) {
    throw EngineException(
        Error{ErrorKind::Failed,
              fmt::format("oneDNN refused a bf16 matrix product of {} x {} x {}: {}", m, n, k, error.what())});
  }
}

} // namespace millrace::cpu
