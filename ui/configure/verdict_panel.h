// Whether the project fits, how fast it would go, what would make it better: always beside the form. Shows what it is
// told; GUI thread.
#pragma once

#include "engine/plan.h"
#include "style/status_colors.h"

#include <QScrollArea>
#include <optional>

class QGridLayout;
class QLabel;
class QPushButton;
class QVBoxLayout;

namespace millrace::ui {

class TierView;

class VerdictPanel : public QScrollArea {
  Q_OBJECT
 public:
  explicit VerdictPanel(QWidget* parent);

  /// complete: with advice, so that no more is to come.
  void showReport(const PlanReport& report, bool complete);
  /// Why there is no answer; key: of the field that is wrong, empty when none is.
  void showInvalid(const QString& message, const QString& key);
  /// What is shown is about an earlier text: its advice cannot be applied to this one.
  void setOutdated();
  /// An answer is still to come.
  void setBusy(bool busy);
  /// "Fits", "Not valid yet".
  QString verdict() const;

 Q_SIGNALS:
  void applyRequested(const millrace::PlanAdvice& advice);
  /// To show what is wrong: a field, or the text where the key is empty.
  void problemRequested(const QString& key);

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void setVerdict(StatusKind status, const QString& text);
  void showTiers(const PlanReport& report);
  void showTimes(const PlanReport& report);
  void showAdvice(const PlanReport& report, bool complete);
  QLabel* makeHeading(const QString& text, QWidget* parent) const;

  StatusKind m_status = StatusKind::Unknown;
  QString m_key;
  QLabel *m_icon, *m_verdict, *m_busy, *m_reasons, *m_model, *m_notes;
  QPushButton* m_toProblem;
  QWidget* m_details; ///< all that only a report has
  std::vector<TierView*> m_tiers;
  QVBoxLayout* m_tierLayout;
  QWidget* m_times;
  QGridLayout* m_timeLayout;
  QWidget* m_advice = nullptr;
  QVBoxLayout* m_detailLayout;
};

} // namespace millrace::ui
