// What a chart can draw at its place; everything else is a mark at the edge, as infinity is.
#pragma once

#include <cmath>

namespace millrace::ui {

/// Axes end far above what any metric means (at 1e250), and ranges are differences of two values.
inline bool isDrawable(double value) {
  return std::abs(value) <= 1e200; // false for what is not a number
}

} // namespace millrace::ui
