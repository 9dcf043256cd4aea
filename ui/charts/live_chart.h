// A chart of any number of series that grow while they are looked at. It shows all of them, follows their ends until
// the user zooms, and repaints by a timer, only when something changed and somebody can see it. Work is proportional to
// pixels, not to rows. A widget like others: GUI thread.
//
// Wheel: zooms x at the cursor (Ctrl: y; sideways: pans). Left drag: zooms to the range. Shift or middle drag: pans.
// Double click or Home: shows all. + and - zoom (Ctrl: y), arrows pan, L: logarithmic or linear.
// Shift with the left and right arrow: moves the crosshair by a row (Ctrl as well: by ten); with Home and End: to the
// edges of the view; Escape takes it away.
#pragma once

#include "charts/axis_ticks.h"
#include "charts/chart_series.h"
#include "charts/repaint_pace.h"
#include "charts/view_range.h"

#include <QTimer>
#include <QWidget>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace millrace::ui {

class ChartInput;
class ChartPlot;
class SeriesList;

class LiveChart : public QWidget {
  Q_OBJECT

 public:
  /// quantity: what y is ("loss"); unit: of it ("nats"), may be empty.
  explicit LiveChart(const QString& quantity, const QString& unit = {}, QWidget* parent = nullptr);
  ~LiveChart() override;

  void addSeries(ChartSeries series);
  void clearSeries();
  int seriesCount() const;
  const ChartSeries& series(int index) const;

  void setYNumbers(AxisNumbers numbers);
  /// What y always shows when it fits itself, such as 0 to 100 percent.
  void setYAtLeast(std::optional<Range> range);
  void setEmptyText(const QString& text);

  XAxisKind xAxisKind() const { return m_kind; }
  void setXAxisKind(XAxisKind kind);
  bool isLogarithmic() const { return m_logarithmic; }
  void setLogarithmic(bool logarithmic);
  double smoothing() const { return m_smoothing; }
  /// Weight of what came before, 0 (none) to SmoothedColumn::maxWeight.
  void setSmoothing(double weight);

  QString quantity() const { return m_quantity; }
  /// First and last x of all series; nothing if there are no rows.
  std::optional<Range> xExtent() const;
  Range xView() const { return m_x.view(); }
  Range yView() const { return m_y; }
  bool followsX() const { return m_x.isFollowing(); }
  bool followsY() const { return m_yFits; }

  /// What the user does by mouse and keys; announced by viewChanged().
  void zoomX(double factor, double at);
  void zoomY(double factor, double at);
  void panX(double share);
  void panY(double share);
  void showX(Range range);
  void fit();

  /// As showX() and fit(), but announced to nobody: for those who keep charts in step.
  void followViewOf(const LiveChart& other);
  /// Where to take the whole range of x from instead of xExtent().
  void setExtentSource(std::function<std::optional<Range>()> source);
  /// How many charts are in the same window: they share the time there is for painting.
  void setCompanions(int charts);

  /// Shows the values of all series at the rows nearest to x, or nothing.
  void setCursor(std::optional<double> x);
  std::optional<double> cursor() const { return m_cursor; }
  /// By rows, as keys do; into view where it leaves that. Without a crosshair it begins at the last row in view.
  void moveCursor(std::int64_t rows);
  /// To the first or the last row in view.
  void moveCursorToEdge(bool last);
  /// "step 1,234 - train 2.345 - validation 2.4"; empty without a cursor.
  QString readout() const;

  /// The range of x being selected, in pixels.
  void setBand(std::optional<std::pair<double, double>> band);

  QRect plotArea() const;
  double xAt(double pixel) const;
  double yAt(double pixel) const;
  double pixelOfX(double x) const;
  double pixelOfY(double y) const;

  /// Draws the chart as it is now, without a cursor, in these colours.
  void paintOn(QPaintDevice& device, QSize size, const QPalette& palette, bool vector);

  /// Seconds of a clock that never goes back; for tests.
  void setClock(std::function<double()> clock);
  const RepaintPace& pace() const { return m_pace; }
  std::int64_t framesPainted() const { return m_frames; }
  bool isFramePending() const { return m_timer.isActive(); }

  QSize sizeHint() const override { return {480, 260}; }
  QSize minimumSizeHint() const override { return {220, 130}; }

 public Q_SLOTS:
  /// Something in the tables changed; called by their changed().
  void refresh();

 Q_SIGNALS:
  void viewChanged();            ///< of x, by the user
  void extentChanged();          ///< xExtent()
  void logarithmicChanged(bool); ///< by the user or by setLogarithmic()
  void cursorMoved(double x);
  void cursorLeft();

 protected:
  bool event(QEvent* event) override;
  void changeEvent(QEvent* event) override;
  void showEvent(QShowEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void focusInEvent(QFocusEvent* event) override;
  void focusOutEvent(QFocusEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void placeCursor(double x);
  void schedule(bool overlayOnly);
  bool canBeSeen() const;
  std::optional<Range> wholeExtent() const;
  void paintFrame();
  void updateRanges(QSize plotSize);
  void updateExtent();
  void fitY();
  void applyColors(const QPalette& palette);
  void applyFont();
  void applyTexts();

  const QString m_quantity, m_unit;
  QString m_emptyText;
  ChartPlot* const m_plot;
  const std::unique_ptr<SeriesList> m_series;
  const std::unique_ptr<ChartInput> m_input; ///< no child: events still come while children are destroyed

  XAxisKind m_kind = XAxisKind::Step;
  AxisNumbers m_yNumbers = AxisNumbers::Plain;
  bool m_logarithmic = false;
  double m_smoothing = 0;
  ViewRange m_x;
  Range m_y;
  bool m_yFits = true;
  std::optional<Range> m_yAtLeast, m_lastExtent;
  std::function<std::optional<Range>()> m_extentSource;
  std::optional<double> m_cursor;

  std::function<double()> m_clock;
  RepaintPace m_pace;
  QTimer m_timer;
  bool m_dataDirty = true;
  bool m_overlayDirty = false;
  std::int64_t m_frames = 0;
};

} // namespace millrace::ui
