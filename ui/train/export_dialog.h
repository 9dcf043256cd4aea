// ExportDialog: a model folder for other programs, made of a checkpoint of a run; the run may go on training meanwhile.
// Closing it gives up what is not written yet.
#pragma once

#include "bridge/model_export.h"

#include <QDialog>

class QComboBox;
class QDoubleSpinBox;
class QLabel;
class QLineEdit;
class QProgressBar;
class QPushButton;

namespace millrace::ui {

class ExportDialog final : public QDialog {
  Q_OBJECT

 public:
  /// run: its directory, on this machine.
  ExportDialog(const QString& run, const QString& name, QWidget* parent = nullptr);

  /// Esc while it works gives up the export, not the dialog.
  void reject() override;

 private:
  void readRun();
  void chooseFolder();
  void begin();
  void showDone(const ExportedModel& model);
  void showProblem(const QString& message);
  void updateButtons();

  const QString m_run;
  ModelExport m_export;
  QComboBox* m_checkpoint;
  QComboBox* m_type;
  QDoubleSpinBox* m_shard;
  QLineEdit* m_folder;
  QPushButton* m_browse;
  QProgressBar* m_progress;
  QLabel* m_message;
  QPushButton* m_begin;
  QPushButton* m_show;
  QPushButton* m_close;
  QString m_written; ///< the folder that was made last
};

} // namespace millrace::ui
