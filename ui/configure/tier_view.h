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
  /// The whole of it, or without its categories.
  enum class Detail { Categories, Total };

  explicit TierView(QWidget* parent, Detail detail = Detail::Categories);

  void setTier(const PlannedTier& tier);
  /// The one that matters most of several.
  void setEmphasised(bool emphasised);

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void showCategories();
  void addCategory(int row, const QColor& color, Qt::BrushStyle style, const QString& name, Bytes bytes);
  void colorShortfall();

  const Detail m_detail;
  bool m_emphasised = false;
  PlannedTier m_tier;
  QLabel *m_title, *m_amount, *m_shortfall, *m_exact;
  TierBar* m_bar;
  QWidget* m_legend = nullptr;
};

} // namespace millrace::ui
