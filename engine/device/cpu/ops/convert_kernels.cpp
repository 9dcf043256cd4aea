#include "device/cpu/ops/convert_kernels.h"

#include "device/cpu/ops/simd.h"

namespace millrace::cpu::MILLRACE_ISA {
namespace {

template <class From, class To>
void convertRows(const Rows& xRows, const Rows& yRows, const Piece& piece) {
  for (std::int64_t r = piece.row; r < piece.row + piece.rows; ++r) {
    const From* x = rowOf<const From>(xRows, r) + piece.column;
    To* y = rowOf<To>(yRows, r) + piece.column;
    if constexpr (__is_same(From, To))
      __builtin_memcpy(y, x, static_cast<std::size_t>(piece.columns) * sizeof(To));
    else
      overRow(piece.columns, [&](std::int64_t i, auto part) { store(y + i, load(x + i, part), part); });
  }
}

} // namespace

void convertPiece(const Rows& x, bool xBf16, const Rows& y, bool yBf16, const Piece& piece) {
  if (xBf16)
    yBf16 ? convertRows<BFloat16, BFloat16>(x, y, piece) : convertRows<BFloat16, float>(x, y, piece);
  else
    yBf16 ? convertRows<float, BFloat16>(x, y, piece) : convertRows<float, float>(x, y, piece);
}

} // namespace millrace::cpu::MILLRACE_ISA
