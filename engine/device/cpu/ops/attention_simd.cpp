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

const AttentionSimd& attentionSimd(Isa isa) {
  switch (isa) {
  case Isa::Avx2:
    return avx2::attentionTable;
  case Isa::Avx512:
    return avx512::attentionTable;
  case Isa::Baseline:
    break;
  }
  return baseline::attentionTable;
}

const AttentionSimd& attentionSimd() {
  return attentionSimd(bestIsa());
}

} // namespace millrace::cpu
