#include "run/svg_chart.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <vector>

namespace millrace {

namespace {

constexpr double width = 960, height = 420;
constexpr double left = 80, right = 24, top = 56, bottom = 52;
constexpr const char* colours[] = {"#2563ab", "#c2510c", "#3d7a35", "#8b3fa0"};

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  void include(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  /// Never empty, with a little room around the values.
  void finish(double margin) {
    if (!(low <= high)) low = 0, high = 1;
    // Values that differ by rounding alone are one value: grid lines must be apart in double precision.
    const double size = std::max(std::fabs(low), std::fabs(high));
    const bool apart = high - low > std::max(1e-12, size * 1e-9);
    const double room = apart ? (high - low) * margin : std::max(1e-9, size * 0.1);
    low -= room;
    high += room;
  }
};

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

std::string tickLabel(double value) {
  const double magnitude = std::fabs(value);
  if (magnitude >= 1e6) return fmt::format("{:g}M", value / 1e6);
  if (magnitude >= 1e4) return fmt::format("{:g}k", value / 1e3);
  return fmt::format("{:.6g}", std::fabs(value) < 1e-12 ? 0.0 : value);
}

/// The largest of 1, 2, 5 times a power of ten that gives at least `count` steps.
double tickStep(const Range& range, int count) {
  const double rough = (range.high - range.low) / count;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  const double share = rough / power;
  return power * (share >= 5 ? 5 : share >= 2 ? 2 : 1);
}

/// The multiples of the step that lie in the range. Counted, so that rounding can never make it endless.
std::vector<double> ticks(const Range& range, int count) {
  const double step = tickStep(range, count);
  std::vector<double> values;
  for (double i = std::ceil(range.low / step); i * step <= range.high && values.size() < 50; ++i)
    values.push_back(i * step);
  return values;
}

class Drawing {
 public:
  explicit Drawing(const ChartDescription& chart) : m_chart(chart) {
    for (const ChartSeries& series : chart.series)
      for (std::size_t i = 0; i < series.x.size(); ++i) {
        m_x.include(series.x[i]);
        m_y.include(series.y[i]);
      }
    m_x.finish(0.0);
    m_y.finish(0.05);
  }

  std::string draw() {
    m_out = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\" "
        "font-family=\"sans-serif\" font-size=\"13\">\n<title>{2}</title>\n<rect width=\"{0}\" height=\"{1}\" "
        "fill=\"#ffffff\"/>\n"
        "<text x=\"{3}\" y=\"26\" font-size=\"17\" fill=\"#1a1a1a\">{2}</text>\n",
        width, height, escaped(m_chart.title), left);
    grid();
    legend();
    for (std::size_t i = 0; i < m_chart.series.size(); ++i) series(m_chart.series[i], colours[i % std::size(colours)]);
    m_out += "</svg>\n";
    return std::move(m_out);
  }

 private:
  double px(double x) const { return left + (x - m_x.low) / (m_x.high - m_x.low) * (width - left - right); }
  double py(double y) const { return height - bottom - (y - m_y.low) / (m_y.high - m_y.low) * (height - top - bottom); }

  void grid() {
    for (const double y : ticks(m_y, 5))
      m_out += fmt::format(
          "<path d=\"M{:.1f} {:.1f}H{:.1f}\" stroke=\"#e2e2e2\"/><text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\" "
          "fill=\"#444444\">{}</text>\n",
          left, py(y), width - right, left - 8, py(y) + 4, tickLabel(y));
    for (const double x : ticks(m_x, 8))
      m_out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" fill=\"#444444\">{}</text>\n", px(x),
                           height - bottom + 20, tickLabel(x));
    m_out += fmt::format(
        "<path d=\"M{0:.1f} {1:.1f}V{2:.1f}H{3:.1f}\" fill=\"none\" stroke=\"#777777\"/>\n"
        "<text x=\"{4:.1f}\" y=\"{5:.1f}\" text-anchor=\"middle\" fill=\"#444444\">{6}</text>\n"
        "<text transform=\"translate(18 {7:.1f}) rotate(-90)\" text-anchor=\"middle\" fill=\"#444444\">{8}</text>\n",
        left, top, height - bottom, width - right, (left + width - right) / 2, height - 12, escaped(m_chart.xLabel),
        (top + height - bottom) / 2, escaped(m_chart.yLabel));
  }

  void legend() {
    double x = left;
    for (std::size_t i = 0; i < m_chart.series.size(); ++i) {
      const ChartSeries& series = m_chart.series[i];
      m_out += fmt::format(
          "<path d=\"M{:.1f} 42h18\" stroke=\"{}\" stroke-width=\"3\" opacity=\"{}\"/><text x=\"{:.1f}\" y=\"46\" "
          "fill=\"#1a1a1a\">{}</text>\n",
          x, colours[i % std::size(colours)], series.faint ? 0.4 : 1.0, x + 24, escaped(series.name));
      x += 44 + 7.5 * static_cast<double>(series.name.size());
    }
  }

  void series(const ChartSeries& series, const char* colour) {
    std::string path;
    bool pen = false;
    for (std::size_t i = 0; i < series.x.size();) {
      // All points of one pixel column at once.
      const double column = std::floor(px(series.x[i]));
      Range extent;
      double first = std::nan(""), last = std::nan("");
      bool broken = false;
      for (; i < series.x.size() && std::floor(px(series.x[i])) == column; ++i) {
        if (!std::isfinite(series.y[i]))
          broken = true;
        else {
          if (std::isnan(first)) first = series.y[i];
          last = series.y[i];
        }
        extent.include(series.y[i]);
      }
      if (broken)
        m_out += fmt::format("<path d=\"M{:.1f} {:.1f}l-4 -7h8z\" fill=\"#b00020\"><title>not finite</title></path>\n",
                             column, top + 8);
      if (std::isnan(first)) {
        pen = false;
        continue;
      }
      path += fmt::format("{}{:.1f} {:.2f}", pen ? "L" : "M", column, py(first));
      if (extent.high > extent.low)
        path += fmt::format("V{:.2f}V{:.2f}V{:.2f}", py(extent.low), py(extent.high), py(last));
      pen = true;
      if (series.dots)
        m_out += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.2f}\" r=\"3.5\" fill=\"{}\"/>\n", column, py(last), colour);
    }
    m_out += fmt::format(
        "<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" stroke-linejoin=\"round\" opacity=\"{}\"/>\n",
        path, colour, series.faint ? 1.0 : 1.8, series.faint ? 0.4 : 1.0);
  }

  const ChartDescription& m_chart;
  Range m_x, m_y;
  std::string m_out;
};

} // namespace

std::string svgChart(const ChartDescription& chart) {
  return Drawing(chart).draw();
}

} // namespace millrace
