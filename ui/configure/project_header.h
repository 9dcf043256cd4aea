// The line above the form: the project's name, its file, whether it is saved, and what can be done with it; below it
// what went wrong with the file. GUI thread.
#pragma once

#include "configure/project_document.h"

#include <QWidget>

class QFrame;
class QLabel;
class QPushButton;

namespace millrace::ui {

class ElidedLabel;

class ProjectHeader : public QWidget {
  Q_OBJECT
 public:
  ProjectHeader(ProjectDocument& document, QWidget* parent);

  /// why: shown where it is not possible.
  void setStartEnabled(bool enabled, const QString& why);
  /// Gives the focus to what is asked about the file; to the answer that loses nothing.
  void revealBanner();

 Q_SIGNALS:
  void saveRequested();
  void saveAsRequested();
  void startRequested();

 private:
  void showTitle();
  void showBanner(const QString& problem);

  ProjectDocument& m_document;
  ElidedLabel *m_name, *m_path;
  QLabel* m_dirty;
  QPushButton *m_save, *m_saveAs, *m_start;
  QFrame* m_banner;
  QLabel* m_bannerText;
  QPushButton *m_reload, *m_keep, *m_dismiss;
};

} // namespace millrace::ui
