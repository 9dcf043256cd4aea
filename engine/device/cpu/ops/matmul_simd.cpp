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

const MatmulSimd& matmulSimd(Isa isa) {
  switch (isa) {
  case Isa::Avx2:
    return avx2::matmulTable;
  case Isa::Avx512:
    return avx512::matmulTable;
  case Isa::Baseline:
    break;
  }
  return baseline::matmulTable;
}

const MatmulSimd& matmulSimd() {
  return matmulSimd(bestIsa());
}

} // namespace millrace::cpu
