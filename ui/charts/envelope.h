// What there is to draw of a series in a range of x, at most a few numbers a pixel column however many rows there are:
// found by search over x and the column's pyramid. Nothing that stands out in the rows is left out.
#pragma once

#include "charts/metric_table.h"

namespace millrace::ui {

/// What an envelope is made from: a column, its pyramid and its x, all of at least `rows` rows.
struct Series {
  XValues x;
  ColumnView y;
  const MinMaxPyramid* pyramid = nullptr;
  std::int64_t rows = 0;
};

struct Envelope {
  struct Point {
    double x;
    double y;
  };
  /// The rows that fall in one pixel column.
  struct Column {
    int pixel;
    double first; ///< value of the first row, finite or not
    double last;
    Extent extent;
  };

  /// Fewer than two rows a pixel: `points` holds them all, and the ones next to the range on both sides, so that lines
  /// can leave it. Else `columns` holds the pixel columns in which there are rows, from left to right.
  bool isExact = true;
  std::vector<Point> points;
  std::vector<Column> columns;
  std::int64_t reads = 0; ///< of values, x and blocks: what it cost
};

/// Of the rows with x in [lower, upper], shown on `pixels` pixel columns.
Envelope envelopeOf(const Series& series, double lower, double upper, int pixels);

/// Of the same rows, all together.
Extent extentOf(const Series& series, double lower, double upper);

} // namespace millrace::ui
