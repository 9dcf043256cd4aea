// Working memory of one compute thread, kept between calls so that tiles do not go to the allocator. Each thread owns
// its own; it grows to the largest size asked for and is freed when the thread ends.
#pragma once

#include <cstdint>

namespace millrace::cpu {

/// Tile: what a task packs and accumulates in. Partials: what a kernel's caller keeps while its tasks run (they may run
/// on the same thread, hence the second slot).
enum class ScratchSlot { Tile, Partials };

/// Room for that many floats at a multiple of operandAlignment, any contents, until this thread's next call for the
/// same slot. Throws std::bad_alloc.
float* threadScratch(ScratchSlot slot, std::int64_t floats);

/// Hands out consecutive aligned pieces of one scratch area: first count what is needed, then take it in that order.
class ScratchPieces {
 public:
  static constexpr std::int64_t rounded(std::int64_t floats) { return (floats + 63) / 64 * 64; }

  explicit ScratchPieces(float* base) : m_next(base) {}
  float* take(std::int64_t floats) {
    float* piece = m_next;
    m_next += rounded(floats);
    return piece;
  }

 private:
  float* m_next;
};

} // namespace millrace::cpu
