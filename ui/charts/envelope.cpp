#include "charts/envelope.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace millrace::ui {

namespace {

/// Finds rows by x, counting what it reads.
class Search {
 public:
  explicit Search(const Series& series) : m_series(series) {}

  std::int64_t reads() const { return m_reads; }

  double x(std::int64_t row) {
    ++m_reads;
    return m_series.x[row];
  }

  /// First row of [begin, rows) for which isBefore(x) does not hold, expected near begin + stride: neighbouring pixel
  /// columns hold about as many rows.
  template <class IsBefore>
  std::int64_t from(std::int64_t begin, std::int64_t stride, const IsBefore& isBefore) {
    std::int64_t end = m_series.rows;
    std::int64_t guess = begin + std::max<std::int64_t>(stride, 1);
    std::int64_t reach = 1;
    if (guess < end && isBefore(x(guess))) {
      do {
        begin = guess + 1;
        guess += reach;
        reach *= 2;
      } while (guess < end && isBefore(x(guess)));
      end = std::min(end, guess);
    } else {
      end = std::min(end, guess);
      for (guess = end - reach; guess > begin && !isBefore(x(guess)); guess = end - reach) {
        end = guess;
        reach *= 2;
      }
      if (guess >= begin && guess < end && isBefore(x(guess))) begin = guess + 1;
    }
    while (begin < end) {
      const std::int64_t middle = begin + (end - begin) / 2;
      if (isBefore(x(middle)))
        begin = middle + 1;
      else
        end = middle;
    }
    return begin;
  }

 private:
  const Series& m_series;
  std::int64_t m_reads = 0;
};

void addPoints(Envelope& envelope, const Series& series, std::int64_t begin, std::int64_t end) {
  begin = std::max<std::int64_t>(0, begin - 1);
  end = std::min(series.rows, end + 1);
  envelope.points.reserve(static_cast<std::size_t>(end - begin));
  for (std::int64_t row = begin; row < end; ++row) envelope.points.push_back({series.x[row], series.y[row]});
  envelope.reads += 2 * (end - begin);
}

} // namespace

Envelope envelopeOf(const Series& series, double lower, double upper, int pixels) {
  Envelope envelope;
  if (series.rows == 0 || pixels <= 0 || !(lower < upper)) return envelope;
  Search search(series);
  const auto isBefore = [](double limit) { return [limit](double x) { return x < limit; }; };
  const std::int64_t middle = series.rows / 2;
  std::int64_t row = search.from(0, middle, isBefore(lower));
  const std::int64_t end = search.from(row, middle, [upper](double x) { return x <= upper; });
  envelope.isExact = end - row < 2 * std::int64_t{pixels};
  if (envelope.isExact) {
    addPoints(envelope, series, row, end);
    envelope.reads += search.reads();
    return envelope;
  }
  const double width = (upper - lower) / pixels;
  std::int64_t stride = (end - row) / pixels;
  envelope.columns.reserve(static_cast<std::size_t>(pixels));
  while (row < end) {
    const int pixel = std::clamp(static_cast<int>((search.x(row) - lower) / width), 0, pixels - 1);
    std::int64_t next = pixel == pixels - 1 ? end : search.from(row, stride, isBefore(lower + (pixel + 1) * width));
    next = std::clamp(next, row + 1, end);
    envelope.columns.push_back({pixel, series.y[row], series.y[next - 1], series.pyramid->extent(series.y, row, next)});
    envelope.reads += envelope.columns.back().extent.reads + 2;
    stride = next - row;
    row = next;
  }
  envelope.reads += search.reads();
  return envelope;
}

Extent extentOf(const Series& series, double lower, double upper) {
  Search search(series);
  const std::int64_t middle = series.rows / 2;
  const std::int64_t begin = search.from(0, middle, [lower](double x) { return x < lower; });
  const std::int64_t end = search.from(begin, middle, [upper](double x) { return x <= upper; });
  return series.pyramid->extent(series.y, begin, end);
}

} // namespace millrace::ui
