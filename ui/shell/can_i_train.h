// CanITrain: a model and a machine in, the planner's answer out; no data is needed.
#pragma once

#include "engine/plan.h"

#include <QGroupBox>
#include <QString>
#include <vector>

class QComboBox;
class QLabel;
class QLineEdit;
class QPushButton;
class QVBoxLayout;

namespace millrace::ui {

class TierView;

class CanITrain final : public QGroupBox {
  Q_OBJECT

 public:
  explicit CanITrain(QWidget* parent = nullptr);

 Q_SIGNALS:
  /// The text of a project for the model that was asked about; it lacks its data.
  void projectRequested(const QString& text);

 private:
  struct Answer;

  void ask();
  void show(const Answer& answer);
  void showTiers(const PlanReport& report);
  void clear();

  QComboBox* m_model;
  QComboBox* m_machine;
  QLineEdit* m_ram;
  QLineEdit* m_nvme;
  QPushButton* m_ask;
  QLabel* m_icon;
  QLabel* m_verdict;
  QLabel* m_reason;
  QVBoxLayout* m_tierLayout;
  std::vector<TierView*> m_tiers;
  QLabel* m_facts;
  QPushButton* m_configure;
  QString m_projectText; ///< of the model that the answer is about
  quint64 m_question = 0;
};

} // namespace millrace::ui
