#include "device/cpu/ops/matmul_simd.h"

namespace millrace::cpu {

namespace baseline {
extern const MatmulSimd matmulTable;
}
namespace avx2 {
extern const MatmulSimd matmulTable;
}
namespace avx512 {
extern const MatmulSimd matmulTable;
}

const MatmulSimd& matmulSimd(SimdIsa isa) {
  switch (isa) {
  case SimdIsa::Avx2:
    return avx2::matmulTable;
  case SimdIsa::Avx512:
    return avx512::matmulTable;
  case SimdIsa::Baseline:
    break;
  }
  return baseline::matmulTable;
}

const MatmulSimd& matmulSimd() {
  return matmulSimd(bestSimdIsa());
}

} // namespace millrace::cpu
