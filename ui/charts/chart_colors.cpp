#include "charts/chart_colors.h"

namespace millrace::ui {

namespace {

QColor mixed(const QColor& one, const QColor& other, double share) {
  const auto mix = [share](float a, float b) { return static_cast<float>(a * share + b * (1 - share)); };
  return QColor::fromRgbF(mix(one.redF(), other.redF()), mix(one.greenF(), other.greenF()),
                          mix(one.blueF(), other.blueF()));
}

} // namespace

const std::array<QColor, seriesColorCount>& seriesColors(bool dark) {
  // Neighbours differ in lightness as well as in hue.
  static const std::array<QColor, seriesColorCount> onLight = {
      QColor(0xff1f66b8), QColor(0xffd2540a), QColor(0xff12805c), QColor(0xff7b3fa8), QColor(0xffc2223f),
      QColor(0xff0e8aa0), QColor(0xff7a4a21), QColor(0xffc8409a), QColor(0xff70790c), QColor(0xff4d5866)};
  static const std::array<QColor, seriesColorCount> onDark = {
      QColor(0xff5ca8f5), QColor(0xffff9440), QColor(0xff41c493), QColor(0xffb98cf2), QColor(0xfff2657a),
      QColor(0xff3ccbdc), QColor(0xffc79a6d), QColor(0xfff58ccd), QColor(0xffc9cc4b), QColor(0xffaab4bf)};
  return dark ? onDark : onLight;
}

QList<qreal> seriesDashes(int index) {
  switch (index % 4) {
  case 1:
    return {7, 3};
  case 2:
    return {7, 2.5, 1.5, 2.5};
  case 3:
    return {2, 2.5};
  default:
    return {};
  }
}

QColor ChartColors::series(int index) const {
  return seriesColors(dark)[static_cast<std::size_t>(index % seriesColorCount)];
}

QColor ChartColors::faint(const QColor& color) const {
  return mixed(color, background, dark ? 0.42 : 0.35);
}

ChartColors chartColors(const QPalette& palette) {
  ChartColors colors;
  colors.background = palette.color(QPalette::Base);
  colors.text = palette.color(QPalette::Text);
  colors.dark = colors.background.lightness() < 128;
  colors.dim = mixed(colors.text, colors.background, 0.72);
  colors.grid = mixed(colors.text, colors.background, 0.13);
  colors.highlight = palette.color(QPalette::Highlight);
  return colors;
}

QPalette printPalette() {
  QPalette palette(QColor(Qt::white));
  palette.setColor(QPalette::Base, Qt::white);
  palette.setColor(QPalette::Text, Qt::black);
  return palette;
}

} // namespace millrace::ui
