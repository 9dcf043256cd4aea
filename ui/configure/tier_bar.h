// One memory as a bar: what the run needs, stacked by category, against the limit; what other programs hold at the far
// end. GUI thread.
#pragma once

#include "engine/plan.h"

#include <QWidget>

namespace millrace::ui {

class TierBar : public QWidget {
  Q_OBJECT
 public:
  explicit TierBar(QWidget* parent);

  void setTier(const PlannedTier& tier);
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;
  bool event(QEvent* event) override;

 private:
  /// Bytes that the whole width stands for.
  Bytes span() const;
  /// Whether the bar reaches to what other programs hold: not where a limit is a small part of the memory.
  bool showsOthers() const;
  double xOf(Bytes bytes) const;
  QString textAt(int x) const;

  PlannedTier m_tier;
};

} // namespace millrace::ui
