// Array forms of the approximations of simd_math.h, for test_simd_math.cpp.
#pragma once

#include "device/cpu/ops/isa.h"

namespace millrace::cpu {

MILLRACE_EACH_ISA(void probeExp(const float* x, float* y, std::int64_t count);
                  void probeSigmoid(const float* x, float* y, std::int64_t count);
                  void probeTanh(const float* x, float* y, std::int64_t count);
                  void probeNormal(const float* x, float* y, std::int64_t count);)

} // namespace millrace::cpu
