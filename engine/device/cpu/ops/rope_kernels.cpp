#include "device/cpu/ops/rope_kernels.h"

#include "device/cpu/ops/simd.h"

namespace millrace::cpu::MILLRACE_ISA {
namespace {

template <class T>
void rotate(const RopeRows& args, std::int64_t begin, std::int64_t end) {
  for (std::int64_t t = begin; t < end; ++t) {
    const float* cosines = args.cosSin + args.positions[t] * args.cosSinStride;
    const float* sines = cosines + args.half;
    const float sign = args.inverse ? -1.0f : 1.0f;
    for (std::int64_t head = 0; head < args.heads; ++head) {
      T* low = static_cast<T*>(args.x) + t * args.tokenStride + head * args.headStride;
      T* high = low + args.half;
      overRow(args.half, [&](std::int64_t i, auto part) {
        const F32v c = load(cosines + i, part);
        const F32v s = load(sines + i, part) * sign;
        const F32v a = load(low + i, part);
        const F32v b = load(high + i, part);
        store(low + i, a * c - b * s, part);
        store(high + i, b * c + a * s, part);
      });
    }
  }
}

} // namespace

void ropeTokens(const RopeRows& args, std::int64_t begin, std::int64_t end) {
  args.bf16 ? rotate<BFloat16>(args, begin, end) : rotate<float>(args, begin, end);
}

} // namespace millrace::cpu::MILLRACE_ISA
