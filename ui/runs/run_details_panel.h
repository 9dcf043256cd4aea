// RunDetailsPanel: one run of the history: how it stands and why, its figures, tags and notes, and what can be done
// with it. Shows and asks; others do. GUI thread.
#pragma once

#include "runs/run_entry.h"

#include <QWidget>

class QLabel;
class QLineEdit;
class QPlainTextEdit;
class QPushButton;

namespace millrace::ui {

class ElidedLabel;
class NotesEdit;

class RunDetailsPanel final : public QWidget {
  Q_OBJECT

 public:
  explicit RunDetailsPanel(QWidget* parent = nullptr);

  /// What is being typed about the same run stays; about another one it is handed over first. An empty path: none.
  void show(const RunEntry& run, bool isBaseline);
  /// Empty: none.
  void showMessage(const QString& message);

 Q_SIGNALS:
  void openRequested(const QString& run);
  void resumeRequested(const QString& run);
  void queueRequested(const QString& run);
  void branchRequested(const QString& run);
  void exportRequested(const QString& run);
  void deleteRequested(const QString& run);
  void folderRequested(const QString& run);
  void forgetRequested(const QString& run);
  void baselineRequested(const QString& run); ///< empty: none
  void notesChanged(const QString& run, const QStringList& tags, const QString& notes);

 private:
  QPushButton* addButton(QLayout* layout, const QString& text, const QString& iconName, const QString& name,
                         void (RunDetailsPanel::*asked)(const QString&));
  void handOver();

  RunEntry m_run;
  bool m_isBaseline = false;
  ElidedLabel* m_name;
  QLabel* m_icon;
  QLabel* m_state;
  QLabel* m_figures;
  ElidedLabel* m_folder;
  QLabel* m_message;
  QLineEdit* m_tags;
  NotesEdit* m_notes;
  QPushButton* m_open;
  QPushButton* m_resume;
  QPushButton* m_queue;
  QPushButton* m_branch;
  QPushButton* m_export;
  QPushButton* m_delete;
  QPushButton* m_pin;
  QPushButton* m_showFolder;
  QPushButton* m_forget;
};

} // namespace millrace::ui
