// The names of a chart's series, each with a piece of its line and, while the cursor is in the chart, the value there:
// a strip above the chart that wraps, and shortens long names rather than take much of the height. Belongs to its plot;
// GUI thread.
#pragma once

#include "charts/chart_colors.h"
#include "charts/series_plottable.h"

#include <QStringList>

namespace millrace::ui {

/// Names cut down to what tells them apart, at word boundaries: "...warmup500-seed1".
QStringList shortNames(const QStringList& names);

class LegendStrip final : public QCPLayoutElement {
 public:
  struct Entry {
    QString name;
    SeriesLook look;
    QString value;
    bool namesPosition = false; ///< the value says where it is
  };

  explicit LegendStrip(QCustomPlot* plot);

  QList<Entry> entries;
  QString position; ///< where the cursor is
  ChartColors colors;

  /// What it takes of a plot of this size.
  int heightIn(QSize plot) const;

  void update(UpdatePhase phase) override;
  /// The whole name of the entry there; empty if there is none.
  QString nameAt(const QPointF& at) const;

 protected:
  void applyDefaultAntialiasingHint(QCPPainter* painter) const override;
  void draw(QCPPainter* painter) override;

 private:
  struct Place {
    double x;
    int line;
    double nameWidth;
  };
  double valueWidth(const Entry& entry) const;
  double positionWidth() const;
  struct Layout {
    QStringList names; ///< as they are shown
    QList<Place> places;
    int lines = 1;
  };
  Layout layoutIn(QSize plot) const;
  int heightOf(const Layout& layout) const;
  /// Puts the names in lines of this width.
  void place(Layout& layout, double width, double nameWidth) const;

  Layout m_layout;
};

} // namespace millrace::ui
