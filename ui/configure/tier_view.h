// One memory of a plan: how much is needed of its limit, as text, as a bar, and by category. GUI thread.
#pragma once

#include "engine/plan.h"

#include <QWidget>

class QGridLayout;
class QLabel;

namespace millrace::ui {

class TierBar;

class TierView : public QWidget {
  Q_OBJECT
 public:
  explicit TierView(QWidget* parent);

  void setTier(const PlannedTier& tier);

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void showCategories();
  void addCategory(int row, const QColor& color, Qt::BrushStyle style, const QString& name, Bytes bytes);
  void colorShortfall();

  PlannedTier m_tier;
  QLabel *m_title, *m_amount, *m_shortfall, *m_exact;
  TierBar* m_bar;
  QWidget* m_legend = nullptr;
};

} // namespace millrace::ui
