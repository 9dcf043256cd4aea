#include "device/cpu/ops/simd_isa.h"

namespace millrace::cpu {

std::string_view toString(SimdIsa isa) {
  switch (isa) {
  case SimdIsa::Baseline:
    return "baseline";
  case SimdIsa::Avx2:
    return "avx2";
  case SimdIsa::Avx512:
    return "avx512";
  }
  return "unknown";
}

bool supported(SimdIsa isa) {
#if defined(__x86_64__)
  switch (isa) {
  case SimdIsa::Baseline:
    return true;
  case SimdIsa::Avx2:
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
  case SimdIsa::Avx512:
    return supported(SimdIsa::Avx2) && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  }
  return false;
#else
  return isa == SimdIsa::Baseline;
#endif
}

SimdIsa bestSimdIsa() {
  static const SimdIsa best = supported(SimdIsa::Avx512) ? SimdIsa::Avx512
                              : supported(SimdIsa::Avx2) ? SimdIsa::Avx2
                                                         : SimdIsa::Baseline;
  return best;
}

} // namespace millrace::cpu
