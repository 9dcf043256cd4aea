// What lies over a chart's series and changes more often than they do: crosshair, the range being selected, the ring of
// the focus, the text of an empty chart. On a layer with a buffer of its own. Belongs to its plot; GUI thread.
#pragma once

#include "charts/chart_colors.h"
#include "charts/plot_library.h"

#include <optional>

namespace millrace::ui {

class ChartOverlay final : public QCPLayerable {
 public:
  struct Dot {
    double x; ///< in the axes' coordinates
    double y;
    QColor color;
  };

  explicit ChartOverlay(QCPAxisRect* area);

  std::optional<double> cursor; ///< x in the axis' coordinates
  QList<Dot> dots;
  std::optional<std::pair<double, double>> band; ///< x in pixels
  QString text;
  bool focused = false;
  ChartColors colors;

 protected:
  void applyDefaultAntialiasingHint(QCPPainter* painter) const override;
  void draw(QCPPainter* painter) override;

 private:
  QCPAxisRect* const m_area;
};

} // namespace millrace::ui
