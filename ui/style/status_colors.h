// Colours that say how something stands, and shapes that say it without colour. They follow the palette: each text
// colour has a contrast of at least 4.5 to 1 (WCAG AA) on its window and base colours. Pure functions; GUI thread.
#pragma once

#include <QColor>
#include <QIcon>
#include <QPalette>

namespace millrace::ui {

enum class StatusKind {
  Good,    ///< a tick in a disc
  Warning, ///< a triangle
  Bad,     ///< a cross in an octagon
  Unknown, ///< a ring
};

/// For text and icons.
QColor statusColor(StatusKind status, const QPalette& palette);

/// Of a box behind texts in the palette's text colour, which has a contrast of 4.5 to 1 on it.
QColor statusFillColor(StatusKind status, const QPalette& palette);

/// For the segments of stacked bars, the same ones in the same order; they repeat after a while. Contrast to the base
/// colour is at least 3 to 1.
QColor segmentColor(int index, const QPalette& palette);

/// Drawn in the palette's colours at any scale.
QPixmap statusPixmap(StatusKind status, const QPalette& palette, int size, qreal devicePixelRatio);
QIcon statusIcon(StatusKind status, const QPalette& palette);

/// WCAG 2's contrast ratio, 1 to 21.
double contrastRatio(const QColor& a, const QColor& b);

} // namespace millrace::ui
