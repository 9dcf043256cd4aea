#include "charts/view_range.h"

#include <algorithm>
#include <cmath>

namespace millrace::ui {

namespace {

Range logarithms(Range range) {
  return {std::log(range.lower), std::log(range.upper)};
}

Range exponentials(Range range) {
  return {std::exp(range.lower), std::exp(range.upper)};
}

} // namespace

Range zoomed(Range range, double factor, double at, bool logarithmic) {
  if (logarithmic) return exponentials(zoomed(logarithms(range), factor, std::log(at)));
  return {at - (at - range.lower) * factor, at + (range.upper - at) * factor};
}

Range panned(Range range, double share, bool logarithmic) {
  if (logarithmic) return exponentials(panned(logarithms(range), share));
  const double by = range.size() * share;
  return {range.lower + by, range.upper + by};
}

Range padded(Range range, double share, bool logarithmic) {
  if (logarithmic) {
    Range logs = logarithms(range);
    const double pad = std::max(logs.size() * share, 0.02);
    return exponentials({logs.lower - pad, logs.upper + pad});
  }
  double pad = range.size() * share;
  // Less than this cannot be told apart on an axis of doubles.
  const double magnitude = std::max(std::abs(range.lower), std::abs(range.upper));
  if (range.size() <= magnitude * 1e-12) pad = magnitude > 0 ? magnitude * 0.05 : 0.5;
  return {range.lower - pad, range.upper + pad};
}

std::optional<Range> united(std::optional<Range> one, std::optional<Range> other) {
  if (!one || !other) return one ? one : other;
  return Range{std::min(one->lower, other->lower), std::max(one->upper, other->upper)};
}

void ViewRange::setExtent(Range extent, double leastSize) {
  m_extent = extent;
  m_leastSize = leastSize;
  if (m_following) m_view = extent;
}

void ViewRange::fit() {
  m_following = true;
  m_view = m_extent;
}

void ViewRange::show(Range range) {
  if (!std::isfinite(range.lower) || !std::isfinite(range.upper)) return;
  if (range.size() < m_leastSize) {
    const double middle = range.lower + range.size() / 2;
    range = {middle - m_leastSize / 2, middle + m_leastSize / 2};
  }
  if (range.size() >= m_extent.size()) return fit();
  m_following = false;
  if (range.lower < m_extent.lower) range = {m_extent.lower, m_extent.lower + range.size()};
  if (range.upper > m_extent.upper) range = {m_extent.upper - range.size(), m_extent.upper};
  m_view = range;
}

} // namespace millrace::ui
