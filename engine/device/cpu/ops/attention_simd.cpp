#include "device/cpu/ops/attention_simd.h"

namespace millrace::cpu {

namespace baseline {
extern const AttentionSimd attentionTable;
}
namespace avx2 {
extern const AttentionSimd attentionTable;
}
namespace avx512 {
extern const AttentionSimd attentionTable;
}

const AttentionSimd& attentionSimd(SimdIsa isa) {
  switch (isa) {
  case SimdIsa::Avx2:
    return avx2::attentionTable;
  case SimdIsa::Avx512:
    return avx512::attentionTable;
  case SimdIsa::Baseline:
    break;
  }
  return baseline::attentionTable;
}

const AttentionSimd& attentionSimd() {
  return attentionSimd(bestSimdIsa());
}

} // namespace millrace::cpu
