// AdamW over host-addressable memory: what the CPU device and the host optimizer (optim/) both run. One fixed sequence
// of IEEE operations per element, so that scalar, AVX2, AVX-512 and CUDA agree bit for bit, denormals included:
//
//   g  = gradient * gradientScale
//   m' = fma(beta1, m, oneMinusBeta1 * g)
//   v' = fma(beta2, v, (oneMinusBeta2 * g) * g)
//   d  = fma(sqrt(v'), inverseSqrtBias2, epsilon)
//   w1 = decay ? w * decayFactor : w
//   w' = fma(-stepSize, m' / d, w1)
//
// with correctly rounded add, mul, fma, sqrt and div, no contraction beyond the fma named, no flush to zero.
// (Loshchilov and Hutter 2019 in PyTorch's order: decay, then update, eps outside the square root of the bias-corrected
// v.)
#pragma once

#include "base/thread_pool.h"
#include "device/kernels.h"

#include <span>
#include <string_view>

namespace millrace {

/// Which vector instructions to use. Results are equal in bits.
enum class AdamWIsa { Scalar, Avx2, Avx512 };

std::string_view toString(AdamWIsa isa);
bool supported(AdamWIsa isa);
/// The widest that this processor supports.
AdamWIsa bestAdamWIsa();

/// Updates args' ranges in place on the calling thread.
void adamWUpdate(const AdamWArgs& args, AdamWIsa isa);
/// All of them, cut into pieces that the pool shares: thousands of short ones cost no more than their elements.
void adamWUpdate(ThreadPool& pool, std::span<const AdamWArgs> all, AdamWIsa isa);
inline void adamWUpdate(ThreadPool& pool, const AdamWArgs& args, AdamWIsa isa) {
  adamWUpdate(pool, std::span(&args, 1), isa);
}

} // namespace millrace
