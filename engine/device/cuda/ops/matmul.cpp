#include "device/cuda/ops/matmul.h"

#include "device/cuda/cuda_error.h"

#include <algorithm>
#include <bit>
#include <fmt/format.h>

namespace millrace::cuda {

namespace {

void check(cublasStatus_t status, const char* doing) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  const bool memory = status == CUBLAS_STATUS_ALLOC_FAILED;
  throw EngineException({memory ? ErrorKind::DoesNotFit : ErrorKind::Failed,
                         fmt::format("cuBLASLt failed at {}: {}{}", doing, cublasLtGetStatusString(status),
                                     memory ? "; lower memory.vram_limit" : "")});
}

cudaDataType_t dataType(DType dtype) {
  return dtype == DType::BF16 ? CUDA_R_16BF : CUDA_R_32F;
}

int alignmentOf(const TensorView& view) {
  if (!view.valid()) return static_cast<int>(operandAlignment);
  const auto address = reinterpret_cast<std::uintptr_t>(view.data);
  return 1 << std::min(std::countr_zero(address), std::countr_zero(static_cast<std::uintptr_t>(operandAlignment)));
}

struct Layout {
  cublasLtMatrixLayout_t value = nullptr;
  /// Row-major (rows, columns) with rows `stride` apart is column-major (columns, rows).
  void set(DType dtype, std::int64_t rows, std::int64_t columns, std::int64_t stride) {
    check(cublasLtMatrixLayoutCreate(&value, dataType(dtype), static_cast<std::uint64_t>(columns),
                                     static_cast<std::uint64_t>(rows), stride),
          "describing a matrix");
  }
  Layout() = default;
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;
  ~Layout() {
    if (value) (void)cublasLtMatrixLayoutDestroy(value);
  }
};

/// A row of one element: its stride says nothing, but must not be less than the row is long.
std::int64_t rowStride(const TensorView& view) {
  return std::max(view.strides[0], view.shape[1]);
}

} // namespace

struct Products::Plan {
  cublasLtMatmulDesc_t product = nullptr;
  Layout a, b, c, d;
  cublasLtMatmulAlgo_t algorithm{};
  ~Plan() {
    if (product) (void)cublasLtMatmulDescDestroy(product);
  }
  template <class T>
  void set(cublasLtMatmulDescAttributes_t attribute, const T& value) {
    check(cublasLtMatmulDescSetAttribute(product, attribute, &value, sizeof value), "describing a product");
  }
};

Products::Products() {
  check(cublasLtCreate(&m_handle), "starting");
}

Products::~Products() {
  (void)cublasLtDestroy(m_handle);
}

const Products::Plan& Products::planOf(const Problem& problem) {
  std::unique_ptr<Plan>& plan = m_plans[problem];
  if (plan) return *plan;
  auto made = std::make_unique<Plan>();
  const auto operands = static_cast<DType>(problem.a), results = static_cast<DType>(problem.c);
  check(cublasLtMatmulDescCreate(&made->product, problem.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F,
                                 CUDA_R_32F),
        "describing a product");
  // Everything is seen transposed: c' = op(b)' op(a)', so the second operand comes first.
  made->set(CUBLASLT_MATMUL_DESC_TRANSA, problem.transposeB ? CUBLAS_OP_T : CUBLAS_OP_N);
  made->set(CUBLASLT_MATMUL_DESC_TRANSB, problem.transposeA ? CUBLAS_OP_T : CUBLAS_OP_N);
  if (problem.bias) {
    made->set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
    made->set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, dataType(operands));
  }
  const auto [m, n, k] = std::tuple(problem.m, problem.n, problem.k);
  made->b.set(operands, problem.transposeB ? n : k, problem.transposeB ? k : n, problem.ldb);
  made->a.set(operands, problem.transposeA ? k : m, problem.transposeA ? m : k, problem.lda);
  made->c.set(problem.residual ? operands : results, m, n, problem.ldc);
  made->d.set(results, m, n, problem.ldd);

  cublasLtMatmulPreference_t preference = nullptr;
  check(cublasLtMatmulPreferenceCreate(&preference), "choosing an algorithm");
  const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
    check(cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof value), "choosing an algorithm");
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<std::size_t>(Workspace::size));
  // Partial sums that are added in place arrive in any order.
  prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
         static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE | CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, static_cast<std::uint32_t>(problem.alignB));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, static_cast<std::uint32_t>(problem.alignA));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, static_cast<std::uint32_t>(problem.alignC));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, static_cast<std::uint32_t>(problem.alignD));
  cublasLtMatmulHeuristicResult_t found{};
  int count = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(m_handle, made->product, made->b.value, made->a.value, made->c.value,
                                     made->d.value, preference, 1, &found, &count);
  (void)cublasLtMatmulPreferenceDestroy(preference);
  if (status != CUBLAS_STATUS_SUCCESS || count == 0)
    throw EngineException(
        {ErrorKind::Failed, fmt::format("cuBLASLt knows no way to multiply ({}, {}) by ({}, {})", m, k, k, n)});
  made->algorithm = found.algo;
  plan = std::move(made);
  return *plan;
}

void Products::multiply(cudaStream_t stream, const MatmulArgs& args, const Workspace& workspace) {
  const TensorView& before = args.residual.valid() ? args.residual : args.c;
  const Problem problem{.m = args.c.shape[0],
                        .n = args.c.shape[1],
                        .k = args.a.shape[args.transposeA ? 0 : 1],
                        .lda = rowStride(args.a),
                        .ldb = rowStride(args.b),
                        .ldc = rowStride(before),
                        .ldd = rowStride(args.c),
                        .a = static_cast<int>(args.a.dtype),
                        .c = static_cast<int>(args.c.dtype),
                        .alignA = alignmentOf(args.a),
                        .alignB = alignmentOf(args.b),
                        .alignC = alignmentOf(before),
                        .alignD = alignmentOf(args.c),
                        .transposeA = args.transposeA,
                        .transposeB = args.transposeB,
                        .bias = args.bias.valid(),
                        .residual = args.residual.valid(),
                        .accumulate = args.accumulate,
                        .tf32 = args.tf32 && args.a.dtype == DType::F32};
  Lock lock(m_mutex);
  const Plan& plan = planOf(problem);
  if (problem.bias) {
    const void* bias = args.bias.data;
    check(cublasLtMatmulDescSetAttribute(plan.product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias),
          "describing a product");
  }
  const float alpha = 1, beta = problem.accumulate || problem.residual ? 1 : 0;
  check(cublasLtMatmul(m_handle, plan.product, &alpha, args.b.data, plan.b.value, args.a.data, plan.a.value, &beta,
                       before.data, plan.c.value, args.c.data, plan.d.value, &plan.algorithm, workspace.data,
                       static_cast<std::size_t>(Workspace::size), stream),
        "a matrix product");
}

} // namespace millrace::cuda
