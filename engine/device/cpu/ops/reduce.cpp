#include "device/cpu/ops/reduce.h"

#include "device/cpu/ops/rows.h"
#include "device/cpu/ops/sum_kernels.h"

#include <algorithm>
#include <array>
#include <vector>

namespace millrace::cpu {

namespace {
/// The sum of part(begin, count) over pieces that the count decides, added in ascending order.
template <class Sum>
double inPieces(ThreadPool& pool, std::int64_t count, Sum&& part) {
  constexpr std::int64_t mostPieces = 512;
  std::array<double, mostPieces> sums{};
  // A multiple of every register's width, so that only the last piece has a partial register.
  const std::int64_t length = std::max<std::int64_t>(32768, ((count + mostPieces - 1) / mostPieces + 63) / 64 * 64);
  const std::int64_t pieces = (count + length - 1) / length;
  pool.parallelFor(pieces, [&](std::int64_t i) {
    const std::int64_t begin = i * length;
    sums[static_cast<std::size_t>(i)] = part(begin, std::min(length, count - begin));
  });
  double total = 0;
  for (std::int64_t i = 0; i < pieces; ++i) total += sums[static_cast<std::size_t>(i)];
  return total;
}

double folded(std::array<double, SumOfSquaresArgs::lanes>& sums) {
  for (std::size_t half = sums.size() / 2; half > 0; half /= 2)
    for (std::size_t i = 0; i < half; ++i) sums[i] += sums[i + half];
  return sums[0];
}
} // namespace

void sum(ThreadPool& pool, const SumArgs& args, Isa isa) {
  const float* x = args.x.as<float>();
  const auto part = MILLRACE_ISA_FUNCTION(isa, sumRange);
  args.sum.as<double>()[0] += inPieces(pool, args.x.shape.elements(),
                                       [&](std::int64_t begin, std::int64_t count) { return part(x + begin, count); });
}

void sumOfSquares(ThreadPool& pool, const SumOfSquaresArgs& args, Isa isa) {
  constexpr std::int64_t lanes = SumOfSquaresArgs::lanes, length = SumOfSquaresArgs::piece;
  const float* x = args.x.as<float>();
  const std::int64_t count = args.x.shape.elements();
  const auto addSquares = MILLRACE_ISA_FUNCTION(isa, addSquaresInLanes);
  std::vector<double> pieces(static_cast<std::size_t>((count + length - 1) / length));
  const Cut cut(static_cast<std::int64_t>(pieces.size()), 1, 4);
  pool.parallelFor(cut.pieces(), [&](std::int64_t i) {
    const Piece p = cut.piece(i);
    for (std::int64_t piece = p.row; piece < p.row + p.rows; ++piece) {
      std::array<double, lanes> sums{};
      addSquares(x + piece * length, std::min(length, count - piece * length), sums.data());
      pieces[static_cast<std::size_t>(piece)] = folded(sums);
    }
  });
  std::array<double, lanes> sums{};
  for (std::size_t i = 0; i < pieces.size(); ++i) sums[i % lanes] += pieces[i];
  args.sum.as<double>()[0] = folded(sums);
}

} // namespace millrace::cpu
