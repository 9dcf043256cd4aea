// AlertBar: what a person should know about a run, newest first, each with what to do; hidden when there is nothing.
#pragma once

#include "engine/run_event.h"

#include <QFrame>
#include <vector>

class QLabel;
class QToolButton;

namespace millrace::ui {

class AlertBar final : public QFrame {
  Q_OBJECT

 public:
  explicit AlertBar(QWidget* parent = nullptr);

  void setAlerts(const std::vector<Alert>& alerts);

 Q_SIGNALS:
  void dismissed();

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void show(std::size_t which);
  void paintStatus();

  std::vector<Alert> m_alerts; ///< oldest first
  std::size_t m_shown = 0;
  QLabel* m_icon;
  QLabel* m_text;
  QLabel* m_count;
  QToolButton* m_older;
  QToolButton* m_newer;
};

} // namespace millrace::ui
