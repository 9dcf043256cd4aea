// The approximations of simd_math.h over arrays, once per instruction set; see test_simd_math.cpp.
#include "simd_math_probe.h"

#include "device/cpu/ops/simd_math.h"

namespace millrace::cpu::MILLRACE_ISA {

void probeExp(const float* x, float* y, std::int64_t count) {
  overRow(count, [&](std::int64_t i, auto part) { store(y + i, expOf(load(x + i, part)), part); });
}

void probeSigmoid(const float* x, float* y, std::int64_t count) {
  overRow(count, [&](std::int64_t i, auto part) { store(y + i, sigmoid(load(x + i, part)), part); });
}

void probeTanh(const float* x, float* y, std::int64_t count) {
  overRow(count, [&](std::int64_t i, auto part) { store(y + i, tanhOf(load(x + i, part)), part); });
}

void probeNormal(const float* x, float* y, std::int64_t count) {
  overRow(count, [&](std::int64_t i, auto part) { store(y + i, normal(load(x + i, part)).cumulative, part); });
}

} // namespace millrace::cpu::MILLRACE_ISA
