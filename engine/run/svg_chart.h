// A line chart as an SVG document. Every point of a series counts: where several fall on one pixel column, their lowest
// and highest are drawn, so that no spike vanishes; what is not finite is marked at the upper edge. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace millrace {

struct ChartSeries {
  std::string name;
  std::vector<double> x, y; ///< equally many; x rising
  bool faint = false;       ///< raw data behind a smoothed line
  bool dots = false;        ///< few points: each is marked
};

struct ChartDescription {
  std::string title;
  std::string xLabel;
  std::string yLabel;
  std::vector<ChartSeries> series;
};

std::string svgChart(const ChartDescription& chart);

} // namespace millrace
