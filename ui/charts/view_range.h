// The part of an axis that a chart shows: it follows the data until the user has zoomed. Plain values.
#pragma once

#include <optional>

namespace millrace::ui {

struct Range {
  double lower = 0;
  double upper = 1;

  double size() const { return upper - lower; }
  bool operator==(const Range&) const = default;
};

/// `range` made smaller (factor < 1) or larger around `at`, which stays where it is; on a logarithmic axis by its
/// logarithms.
Range zoomed(Range range, double factor, double at, bool logarithmic = false);
/// `range` moved by a share of its size.
Range panned(Range range, double share, bool logarithmic = false);

/// With room on both sides, and of some size even around a single value. On a logarithmic axis both must be above 0.
Range padded(Range range, double share, bool logarithmic = false);

/// From the lower to the upper end of both; nothing if both are.
std::optional<Range> united(std::optional<Range> one, std::optional<Range> other);

class ViewRange {
 public:
  /// What there is to see, and the least that can be told apart. Moves the view along while it follows.
  void setExtent(Range extent, double leastSize);

  Range extent() const { return m_extent; }
  Range view() const { return m_view; }
  bool isFollowing() const { return m_following; }

  void fit();
  /// Never leaves the extent; what shows all of it follows again.
  void show(Range range);

 private:
  Range m_extent;
  Range m_view;
  double m_leastSize = 0;
  bool m_following = true;
};

} // namespace millrace::ui
