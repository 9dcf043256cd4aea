#include "plan/run_shape.h"

namespace millrace {

std::string_view toString(Precision precision) {
  return precision == Precision::Fp32 ? "fp32" : precision == Precision::Tf32 ? "tf32" : "bf16";
}

std::string_view toString(ClipMode mode) {
  switch (mode) {
  case ClipMode::Exact:
    return "exact";
  case ClipMode::ExactBf16:
    return "exact-bf16";
  case ClipMode::Off:
    return "off";
  }
  return "unknown";
}

std::string_view toString(Recompute policy) {
  switch (policy) {
  case Recompute::Full:
    return "full";
  case Recompute::Selective:
    return "selective";
  case Recompute::None:
    return "none";
  }
  return "unknown";
}

} // namespace millrace
