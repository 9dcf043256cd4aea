// DeleteCheckpointsDialog: which checkpoints of a run go, and how much of the disk that frees; asks, and deletes
// nothing itself. GUI thread; looks at the files on the pool's.
#pragma once

#include "engine/run_details.h"

#include <QDialog>

class QCheckBox;
class QLabel;
class QPushButton;

namespace millrace::ui {

class DeleteCheckpointsDialog final : public QDialog {
  Q_OBJECT

 public:
  /// finished: its run has come to its end, so that nothing of it is left to be resumed.
  DeleteCheckpointsDialog(const QString& run, const QString& name, bool finished, QWidget* parent = nullptr);

 Q_SIGNALS:
  void confirmed(millrace::KeptCheckpoints keep);

 private:
  void look();
  void updateText();
  KeptCheckpoints kept() const;

  const QString m_run;
  const bool m_finished;
  std::vector<CheckpointSize> m_checkpoints;
  std::int64_t m_best = -1;
  QLabel* m_text;
  QLabel* m_warning;
  QCheckBox* m_keepNewest;
  QCheckBox* m_keepBest;
  QPushButton* m_delete;
};

} // namespace millrace::ui
