#include "charts/pixel_spans.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace millrace::ui {

namespace {

/// Whether a dash pattern has ink at this place along x.
bool hasInk(const QList<double>& dashes, double position) {
  double period = 0;
  for (const double length : dashes) period += length;
  if (!(period > 0)) return true;
  position = std::fmod(position, period);
  for (qsizetype i = 0; i < dashes.size(); ++i) {
    if (position < dashes[i]) return i % 2 == 0;
    position -= dashes[i];
  }
  return true;
}

} // namespace

PixelSpans::PixelSpans(int left, int columns, double top, double bottom)
    : m_left(left),
      m_top(top),
      m_bottom(bottom),
      m_spans(static_cast<std::size_t>(std::max(0, columns)),
              {std::numeric_limits<float>::max(), std::numeric_limits<float>::lowest()}) {}

void PixelSpans::cover(int column, double y, double other) {
  if (column < 0 || column >= static_cast<int>(m_spans.size())) return;
  const double upper = std::min(y, other), lower = std::max(y, other);
  if (lower < m_top || upper > m_bottom) return;
  Span& span = m_spans[static_cast<std::size_t>(column)];
  span.top = std::min(span.top, static_cast<float>(std::max(upper, m_top)));
  span.bottom = std::max(span.bottom, static_cast<float>(std::min(lower, m_bottom)));
}

void PixelSpans::join(double fromX, double fromY, double toX, double toY) {
  const auto columns = static_cast<double>(m_spans.size());
  if (!(toX >= 0) || !(fromX < columns)) return;
  const double slope = toX > fromX ? (toY - fromY) / (toX - fromX) : 0;
  const auto at = [&](double x) { return x >= toX ? toY : x <= fromX ? fromY : fromY + (x - fromX) * slope; };
  const int first = static_cast<int>(std::floor(std::max(fromX, 0.0)));
  const int last = static_cast<int>(std::floor(std::min(toX, columns - 1)));
  if (first == last) return cover(first, fromX < 0 ? at(0) : fromY, toX > columns ? at(columns) : toY);
  for (int column = first; column <= last; ++column) cover(column, at(column), at(column + 1));
}

bool PixelSpans::reachesLike(std::size_t column, const Span& span) const {
  if (column >= m_spans.size()) return false;
  const float third = (span.bottom - span.top) / 3;
  return m_spans[column].top <= span.top + third && m_spans[column].bottom >= span.bottom - third;
}

QList<QRect> PixelSpans::rects(int width, const QList<double>& dashes) const {
  QList<QRect> rects;
  rects.reserve(static_cast<qsizetype>(2 * m_spans.size()));
  const auto pixelTop = [&](const Span& span) { return static_cast<int>(std::lround(span.top)) - width / 2; };
  const auto pixelBottom = [&](const Span& span) {
    return static_cast<int>(std::lround(span.bottom)) - width / 2 + width;
  };
  constexpr std::size_t groupSize = 16;
  for (std::size_t begin = 0; begin < m_spans.size(); begin += groupSize) {
    const std::size_t end = std::min(begin + groupSize, m_spans.size());
    // What all columns of a group cover is painted at once: memory is filled row by row.
    int top = std::numeric_limits<int>::min(), bottom = std::numeric_limits<int>::max();
    for (std::size_t column = begin; column < end; ++column) {
      const Span& span = m_spans[column];
      top = span.top <= span.bottom ? std::max(top, pixelTop(span)) : std::numeric_limits<int>::max();
      bottom = span.top <= span.bottom ? std::min(bottom, pixelBottom(span)) : bottom;
      if (top >= bottom) break;
    }
    const bool shared = bottom > top && bottom - top > 3 * width;
    if (shared) rects.push_back({m_left + static_cast<int>(begin), top, static_cast<int>(end - begin), bottom - top});
    for (std::size_t column = begin; column < end; ++column) {
      const Span& span = m_spans[column];
      if (span.top > span.bottom) continue;
      const float height = span.bottom - span.top;
      if (height < static_cast<float>(1.5 * width) && !hasInk(dashes, static_cast<double>(column))) continue;
      // As wide as the line where it stands out; a single pixel where the neighbours would cover the rest.
      const bool thin =
          height > static_cast<float>(3 * width) && reachesLike(column - 1, span) && reachesLike(column + 1, span);
      const int x = m_left + static_cast<int>(column) - (thin ? 0 : width / 2);
      const auto add = [&](int from, int to) {
        if (from < to) rects.push_back({x, from, thin ? 1 : width, to - from});
      };
      add(pixelTop(span), shared ? top : pixelBottom(span));
      if (shared) add(bottom, pixelBottom(span));
    }
  }
  return rects;
}

} // namespace millrace::ui
