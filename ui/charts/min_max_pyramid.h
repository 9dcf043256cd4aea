// Smallest and largest value, and how many are not finite, over any rows of a column in O(log rows): blocks of 32 rows,
// blocks of 8 blocks, and so on. Only whole blocks are kept; what is left over is read from the column, so that nothing
// has to be mended when rows are added or cut off. Owned beside its column; one thread at a time.
#pragma once

#include "charts/column_file.h"

#include <cstdint>
#include <limits>
#include <vector>

namespace millrace::ui {

/// What there is in some rows of a column.
struct Extent {
  double min = std::numeric_limits<double>::infinity(); ///< of the finite values; above max if there are none
  double max = -std::numeric_limits<double>::infinity();
  double minPositive = std::numeric_limits<double>::infinity(); ///< infinite if no finite value is above 0
  std::int64_t nan = 0;
  std::int64_t positiveInfinite = 0;
  std::int64_t negativeInfinite = 0;
  std::int64_t notPositive = 0; ///< finite and <= 0: what a logarithmic axis cannot show
  std::int64_t reads = 0;       ///< values and blocks that were looked at

  bool hasFinite() const { return min <= max; }
  std::int64_t notFinite() const { return nan + positiveInfinite + negativeInfinite; }
  void add(double value);
};

class MinMaxPyramid {
 public:
  static constexpr std::int64_t blockRows = 32;
  static constexpr std::int64_t fanOut = 8;

  /// Takes in what was appended to the column, which has `rows` rows now.
  void extend(ColumnView values, std::int64_t rows);
  /// Forgets the rows from `rows` on.
  void truncate(std::int64_t rows);
  /// Of the rows [begin, end), which must be rows of the column as last given to extend().
  Extent extent(ColumnView values, std::int64_t begin, std::int64_t end) const;

  std::int64_t memoryBytes() const;

 private:
  struct Bounds {
    double min;
    double max;
  };
  /// What most columns never have; kept from the first value on that is not a finite number above 0.
  struct Rare {
    double minPositive;
    std::uint32_t nan;
    std::uint32_t positiveInfinite;
    std::uint32_t negativeInfinite;
    std::uint32_t notPositive;
  };
  struct Level {
    std::vector<Bounds> bounds;
    std::vector<Rare> rare;
  };

  void push(std::size_t level, const Extent& extent);
  void keepRare();
  void merge(Extent& extent, std::size_t level, std::int64_t block) const;

  std::vector<Level> m_levels;
  bool m_keepsRare = false;
};

} // namespace millrace::ui
