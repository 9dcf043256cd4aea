// The project's text, to be read and edited as it is; the place of an error is marked. Both ways in step with the form.
// Owned by the page; GUI thread.
#pragma once

#include "configure/project_document.h"

#include <QWidget>

class QLabel;
class QPlainTextEdit;

namespace millrace::ui {

class JsonView : public QWidget {
  Q_OBJECT
 public:
  JsonView(ProjectDocument& document, QWidget* parent);

  /// Puts the cursor where the text is wrong, as far as that is known.
  void revealProblem();

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void showText();
  void takeText();
  void showProblem();
  void mark(TextSpan bytes);

  ProjectDocument& m_document;
  bool m_showing = false; ///< the change of the edit is ours
  QPlainTextEdit* m_edit;
  QLabel* m_problem;
};

} // namespace millrace::ui
