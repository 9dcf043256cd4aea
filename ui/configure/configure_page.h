// The Configure page: a project as a form and as JSON, and beside it whether it fits. Brings document, check and
// planner together; owns its widgets and its planner, not the document. GUI thread.
#pragma once

#include "bridge/plan_query.h"
#include "configure/path_chooser.h"
#include "configure/project_document.h"

#include <QWidget>

class QLabel;
class QSplitter;
class QTabWidget;

namespace millrace::ui {

class JsonView;
class ProjectForm;
class ProjectHeader;
class VerdictPanel;

class ConfigurePage : public QWidget {
  Q_OBJECT
 public:
  /// The document outlives the page.
  explicit ConfigurePage(ProjectDocument& document, PathChooser chooser = nativePathChooser(),
                         PlanFunction plan = planOnThisMachine(), QWidget* parent = nullptr);

  /// Whether the project is valid, and does not exceed the machine as far as is known.
  bool canStart() const;

 public Q_SLOTS:
  /// To the document's file, or to one that is asked for.
  void save();
  void chooseSaveAs();

 Q_SIGNALS:
  /// By the Start button; the project is valid, perhaps not saved.
  void startRequested();

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  void documentChanged();
  void documentChecked(bool valid, const QString& key, const QString& message);
  void showReport(const PlanReport& report, bool complete);
  void showProblem(const QString& key, QString message);
  /// Asks for folders where the advice names none.
  void apply(const PlanAdvice& advice);
  void goToProblem(const QString& key);
  void updateStart();

  ProjectDocument& m_document;
  PlanQuery* m_plans;
  PathChooser m_chooser;
  ProjectHeader* m_header;
  QTabWidget* m_tabs;
  ProjectForm* m_form;
  QLabel* m_unparsed; ///< in place of a form that cannot show the text
  JsonView* m_json;
  VerdictPanel* m_panel;
  QSplitter* m_splitter;
  std::optional<Verdict> m_verdict; ///< of the text as it is; nothing: not known
  bool m_refused = false;           ///< the planner found the project wrong
};

} // namespace millrace::ui
