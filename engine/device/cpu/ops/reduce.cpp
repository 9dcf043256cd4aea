#include "device/cpu/ops/reduce.h"

#include "device/cpu/ops/sum_kernels.h"

#include <algorithm>
#include <array>

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
} // namespace

void sum(ThreadPool& pool, const SumArgs& args, Isa isa) {
  const float* x = args.x.as<float>();
  const auto part = MILLRACE_ISA_FUNCTION(isa, sumRange);
  args.sum.as<double>()[0] += inPieces(pool, args.x.shape.elements(),
                                       [&](std::int64_t begin, std::int64_t count) { return part(x + begin, count); });
}

void sumOfSquares(ThreadPool& pool, const SumOfSquaresArgs& args, Isa isa) {
  const float* x = args.x.as<float>();
  const auto part = MILLRACE_ISA_FUNCTION(isa, sumOfSquaresRange);
  args.sum.as<double>()[0] = inPieces(pool, args.x.shape.elements(),
                                      [&](std::int64_t begin, std::int64_t count) { return part(x + begin, count); });
}

} // namespace millrace::cpu
