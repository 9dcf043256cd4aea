// Matrix products by cuBLASLt, with bias, residual and accumulation in its own epilogues.
#pragma once

#include "base/mutex.h"
#include "device/cuda/ops/workspace.h"
#include "device/kernels.h"

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <map>
#include <memory>

namespace millrace::cuda {

/// Products of one GPU. The algorithm of a product is cuBLASLt's own choice for its shape, layout, alignment and our
/// workspace, asked once; it adds partial sums up in a fixed order. So the bits depend on what is multiplied alone.
class Products {
 public:
  Products();
  ~Products();
  Products(const Products&) = delete;
  Products& operator=(const Products&) = delete;

  /// See MatmulArgs. bf16 operands run on the matrix units, fp32 operands in true fp32, or
  /// in tf32 where that is asked for.
  void multiply(cudaStream_t stream, const MatmulArgs& args, const Workspace& workspace);

 private:
  /// What the choice of an algorithm depends on.
  struct Problem {
    std::int64_t m, n, k, lda, ldb, ldc, ldd;
    int a, c; ///< dtypes
    int alignA, alignB, alignC, alignD;
    bool transposeA, transposeB, bias, residual, accumulate, tf32;
    auto operator<=>(const Problem&) const = default;
  };
  struct Plan;

  const Plan& planOf(const Problem& problem) MILLRACE_REQUIRES(m_mutex);

  cublasLtHandle_t m_handle = nullptr;
  Mutex m_mutex;
  std::map<Problem, std::unique_ptr<Plan>> m_plans MILLRACE_GUARDED_BY(m_mutex);
};

} // namespace millrace::cuda
