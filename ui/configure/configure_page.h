// The Configure page: a project as a form and as JSON, and beside it whether it fits. Brings document, check and
// planner together; owns its widgets and its planner, not the document. GUI thread.
#pragma once

#include "bridge/data_query.h"
#include "configure/path_chooser.h"
#include "configure/project_document.h"

#include <QWidget>

class QLabel;
class QSplitter;
class QTabWidget;

namespace millrace::ui {

class BranchBar;
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
  /// What its run begins from other than what it says itself; empty: nothing.
  void setBeginning(const QString& text);

 public Q_SLOTS:
  /// To the document's file, or to one that is asked for.
  void save();
  void chooseSaveAs();
  /// What plans are predicted from has changed.
  void planAgain();
  /// Shows what is to be decided about a file that another program has changed.
  void revealChange();

 Q_SIGNALS:
  /// By the Start button; the project is valid, perhaps not saved.
  void startRequested();
  /// Its run is to begin as the project says.
  void beginningDropped();

 protected:
  void resizeEvent(QResizeEvent* event) override;
  void showEvent(QShowEvent* event) override;
  /// Whoever comes back to the window may have changed files meanwhile.
  bool event(QEvent* event) override;

 private:
  void documentChanged();
  void documentChecked(bool valid, const QString& key, const QString& message);
  void showReport(const PlanReport& report, bool complete);
  void showProblem(const QString& key, QString message);
  /// Beside its field alone: what the project needs can be planned all the same.
  void showDataProblem(const QString& key, const QString& message);
  void lookAgain();
  PlanQuestion question() const;
  /// Asks for folders where the advice names none.
  void apply(const PlanAdvice& advice);
  void goToProblem(const QString& key);
  void updateStart();

  ProjectDocument& m_document;
  PlanQuery* m_plans;
  DataQuery* m_data;
  PathChooser m_chooser;
  ProjectHeader* m_header;
  BranchBar* m_branch;
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
