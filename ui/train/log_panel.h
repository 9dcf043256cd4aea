// LogPanel: the lines of a run's log, by least level and text; stays at the newest unless scrolled away.
#pragma once

#include "models/log_filter.h"

#include <QWidget>

class QTableView;

namespace millrace::ui {

class LogModel;

class LogPanel final : public QWidget {
  Q_OBJECT

 public:
  explicit LogPanel(QWidget* parent = nullptr);

  /// May be null. Must outlive its being shown.
  void show(LogModel* model);

 private:
  void showEvent(QShowEvent* event) override;
  void copySelected() const;

  LogFilter m_filter;
  QTableView* m_view;
  bool m_following = true; ///< the newest line is in sight
};

} // namespace millrace::ui
