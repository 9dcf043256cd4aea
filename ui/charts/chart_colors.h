// Colours of charts on the palette's own backgrounds. Ten colours for series, told apart by dash patterns as well.
// Values; any thread.
#pragma once

#include <QColor>
#include <QList>
#include <QPalette>
#include <array>

namespace millrace::ui {

inline constexpr int seriesColorCount = 10;

/// At least 3:1 (WCAG, graphics) on the light or dark theme's backgrounds.
const std::array<QColor, seriesColorCount>& seriesColors(bool dark);

/// In widths of the pen; empty: solid. Four patterns, so that colours that look alike to some differ in them.
QList<qreal> seriesDashes(int index);

struct ChartColors {
  QColor background;
  QColor text;
  QColor dim; ///< less important text, axes
  QColor grid;
  QColor highlight;
  bool dark = false;

  /// Any index; goes round.
  QColor series(int index) const;
  /// Raw values behind their average.
  QColor faint(const QColor& color) const;
};

ChartColors chartColors(const QPalette& palette);

/// Black on white, whatever the screen shows.
QPalette printPalette();

} // namespace millrace::ui
