#include "device/cpu/ops/softcap_kernels.h"

#include "device/cpu/ops/simd_math.h"

namespace millrace::cpu::MILLRACE_ISA {

void softcapRows(float* x, std::int64_t stride, std::int64_t rows, std::int64_t columns, float softcap) {
  const float inverse = 1.0f / softcap;
  for (std::int64_t r = 0; r < rows; ++r, x += stride)
    overRow(columns,
            [&](std::int64_t i, auto part) { store(x + i, tanhOf(load(x + i, part) * inverse) * softcap, part); });
}

} // namespace millrace::cpu::MILLRACE_ISA
