#include "device/cpu/ops/isa.h"

namespace millrace::cpu {

std::string_view toString(Isa isa) {
  switch (isa) {
  case Isa::Baseline:
    return "baseline";
  case Isa::Avx2:
    return "avx2";
  case Isa::Avx512:
    return "avx512";
  }
  return "unknown";
}

bool supported(Isa isa) {
#if defined(__x86_64__)
  switch (isa) {
  case Isa::Baseline:
    return true;
  case Isa::Avx2:
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
  case Isa::Avx512:
    return supported(Isa::Avx2) && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  }
  return false;
#else
  return isa == Isa::Baseline;
#endif
}

Isa bestIsa() {
  static const Isa best = supported(Isa::Avx512) ? Isa::Avx512 : supported(Isa::Avx2) ? Isa::Avx2 : Isa::Baseline;
  return best;
}

} // namespace millrace::cpu
