// oneDNN's matrix products on the calling thread alone. Row-major throughout; leading dimensions in elements. All
// throw EngineException when oneDNN reports an error.
#pragma once

#include <cstdint>

namespace millrace::cpu {

/// c = op(a) op(b), added to c when accumulate is set. op(a) (m, k), op(b) (k, n), c (m, n), fp32. The result does not
/// depend on where the operands lie. oneDNN packs in memory of its own during the call (16 KiB at most for the tiles
/// used here) and keeps none.
void sgemm(bool transposeA, bool transposeB, std::int64_t m, std::int64_t n, std::int64_t k, const float* a,
           std::int64_t lda, const float* b, std::int64_t ldb, bool accumulate, float* c, std::int64_t ldc);

/// Whether this processor multiplies bf16 itself (AMX) and oneDNN uses it. AVX512-BF16 alone is left aside: there the
/// result depends on where the operands lie.
bool hasNativeBf16();

/// The same with a and b in bf16 and c in fp32; only where hasNativeBf16(). Keeps up to 64 prepared products a thread.
void bf16Gemm(bool transposeA, bool transposeB, std::int64_t m, std::int64_t n, std::int64_t k, const std::uint16_t* a,
              std::int64_t lda, const std::uint16_t* b, std::int64_t ldb, bool accumulate, float* c, std::int64_t ldc);

} // namespace millrace::cpu
