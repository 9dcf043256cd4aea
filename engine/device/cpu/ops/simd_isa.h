// Which instruction set the vectorised kernels run on. Sources listed with millrace_isa_sources() are compiled once for
// each of these; a kernel family offers its functions as a table per instruction set and takes the best one at run
// time.
#pragma once

#include <string_view>

namespace millrace::cpu {

enum class SimdIsa { Baseline, Avx2, Avx512 };

std::string_view toString(SimdIsa isa);
/// Whether this processor and operating system run it.
bool supported(SimdIsa isa);
/// The widest that is supported.
SimdIsa bestSimdIsa();

} // namespace millrace::cpu
