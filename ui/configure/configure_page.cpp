#include "configure/configure_page.h"

#include "bridge/text.h"
#include "configure/branch_bar.h"
#include "configure/json_view.h"
#include "configure/project_form.h"
#include "configure/project_header.h"
#include "configure/project_paths.h"
#include "configure/verdict_panel.h"
#include "style/page_area.h"

#include <QEvent>
#include <QLabel>
#include <QSplitter>
#include <QTabWidget>
#include <QVBoxLayout>
#include <algorithm>

namespace millrace::ui {

namespace {

/// What the planner writes where a person has to name a folder.
constexpr const char* someFolder = R"(["DIR"])";
constexpr int formTabIndex = 0;
/// Width from which the verdict stands beside the form.
constexpr int besideWidth = 940;
constexpr int jsonTabIndex = 1;

} // namespace

ConfigurePage::ConfigurePage(ProjectDocument& document, PathChooser chooser, PlanFunction plan, QWidget* parent)
    : QWidget(parent),
      m_document(document),
      m_plans(new PlanQuery(std::move(plan), this)),
      m_data(new DataQuery(this)),
      m_chooser(std::move(chooser)),
      m_header(new ProjectHeader(document, this)),
      m_branch(new BranchBar),
      m_tabs(new QTabWidget(this)),
      m_form(new ProjectForm(document, m_chooser, m_tabs)),
      m_unparsed(new QLabel),
      m_json(new JsonView(document, m_tabs)),
      m_panel(new VerdictPanel(this)),
      m_splitter(new QSplitter(Qt::Horizontal)) {
  m_unparsed->setWordWrap(true);
  m_unparsed->setText(tr("The text is no JSON object, so that the form cannot show it: mend it in the JSON tab."));
  m_unparsed->hide();
  auto* formTab = new QWidget(m_tabs);
  auto* formLayout = new QVBoxLayout(formTab);
  formLayout->addWidget(m_unparsed);
  formLayout->addWidget(m_form, 1);
  auto* jsonTab = new QWidget(m_tabs);
  (new QVBoxLayout(jsonTab))->addWidget(m_json);
  m_tabs->setDocumentMode(true); // no frame, and the window's own background
  m_tabs->addTab(formTab, tr("F&orm"));
  m_tabs->addTab(jsonTab, tr("&JSON"));

  m_splitter->addWidget(m_tabs);
  m_splitter->addWidget(m_panel);
  m_splitter->setStretchFactor(0, 3);
  m_splitter->setStretchFactor(1, 2);
  m_splitter->setChildrenCollapsible(false);
  auto* page = new QWidget;
  auto* layout = new QVBoxLayout(page);
  layout->addWidget(m_header);
  layout->addWidget(m_branch);
  layout->addWidget(m_splitter, 1);
  auto* outer = new QVBoxLayout(this);
  outer->setContentsMargins(0, 0, 0, 0);
  outer->addWidget(new PageArea(page));

  connect(&document, &ProjectDocument::changed, this, &ConfigurePage::documentChanged);
  connect(&document, &ProjectDocument::validated, this, &ConfigurePage::documentChecked);
  connect(m_plans, &PlanQuery::answered, this, &ConfigurePage::showReport);
  connect(m_plans, &PlanQuery::failed, this, [this](const Error& error) {
    m_refused = true;
    showProblem(QString::fromStdString(error.key), QString::fromStdString(error.message));
  });
  connect(m_data, &DataQuery::answered, this, &ConfigurePage::showDataProblem);
  connect(m_plans, &PlanQuery::busy, m_panel, &VerdictPanel::setBusy);
  connect(m_panel, &VerdictPanel::applyRequested, this, &ConfigurePage::apply);
  connect(m_panel, &VerdictPanel::problemRequested, this, &ConfigurePage::goToProblem);
  connect(m_header, &ProjectHeader::saveRequested, this, &ConfigurePage::save);
  connect(m_header, &ProjectHeader::saveAsRequested, this, &ConfigurePage::chooseSaveAs);
  connect(m_header, &ProjectHeader::startRequested, this, &ConfigurePage::startRequested);
  connect(m_branch, &BranchBar::dropped, this, &ConfigurePage::beginningDropped);
  documentChanged();
}

bool ConfigurePage::canStart() const {
  return m_document.isValid() && !m_refused && m_verdict != Verdict::DoesNotFit;
}

void ConfigurePage::setBeginning(const QString& text) {
  m_branch->setBeginning(text);
}

void ConfigurePage::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  // Below the form where there is no room beside it.
  const Qt::Orientation orientation = width() < besideWidth ? Qt::Vertical : Qt::Horizontal;
  if (orientation == m_splitter->orientation()) return;
  m_splitter->setOrientation(orientation);
  m_splitter->setSizes({3000, 2000}); // shares of what there is
}

void ConfigurePage::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  lookAgain();
}

bool ConfigurePage::event(QEvent* event) {
  if (event->type() == QEvent::WindowActivate) lookAgain();
  return QWidget::event(event);
}

void ConfigurePage::save() {
  if (m_document.filePath().isEmpty() || m_document.isReadOnly())
    chooseSaveAs();
  else
    m_document.save();
}

void ConfigurePage::chooseSaveAs() {
  PathRequest request;
  request.kind = PathRequest::Kind::SaveFile;
  request.title = tr("Save project");
  request.start =
      m_document.filePath().isEmpty() ? m_document.folder() + "/" + m_document.name() + ".json" : m_document.filePath();
  request.filter = tr("Project (*.json);;All files (*)");
  m_chooser(this, request, [this](const QStringList& paths) {
    if (!paths.isEmpty()) m_document.saveAs(paths.front());
  });
}

void ConfigurePage::documentChanged() {
  m_plans->cancel(); // answers are about an earlier text
  m_data->cancel();
  m_verdict.reset();
  m_refused = false;
  m_panel->setOutdated();
  m_panel->setBusy(true);
  m_form->setEnabled(m_document.isParsed());
  m_unparsed->setVisible(!m_document.isParsed());
  updateStart();
}

void ConfigurePage::documentChecked(bool valid, const QString& key, const QString& message) {
  if (!valid) {
    m_panel->setBusy(false);
    showProblem(key, message);
    return;
  }
  m_form->showProblem({}, {});
  m_plans->ask(question());
  m_data->ask(question());
  updateStart();
}

PlanQuestion ConfigurePage::question() const {
  return {m_document.text(), m_document.sourceName().toStdString(), toPath(m_document.folder())};
}

void ConfigurePage::showDataProblem(const QString& key, const QString& message) {
  if (!m_refused) m_form->showProblem(key, message);
}

void ConfigurePage::lookAgain() {
  m_document.lookAtFile();
  if (m_document.isValid()) m_data->ask(question());
}

void ConfigurePage::planAgain() {
  if (m_document.isValid()) m_plans->ask(question());
}

void ConfigurePage::revealChange() {
  m_header->revealBanner();
}

void ConfigurePage::showProblem(const QString& key, QString message) {
  message = withoutSource(message, m_document.sourceName());
  const bool hasField = m_form->showProblem(key, message);
  m_panel->showInvalid(message, hasField ? key : QString());
  updateStart();
}

void ConfigurePage::showReport(const PlanReport& report, bool complete) {
  m_verdict = report.verdict;
  m_panel->showReport(report, complete);
  updateStart();
}

void ConfigurePage::apply(const PlanAdvice& advice) {
  const auto asks = std::find_if(advice.changes.begin(), advice.changes.end(),
                                 [](const ProjectChange& change) { return change.value == someFolder; });
  if (asks == advice.changes.end()) return m_document.apply(advice.changes);
  const PathRequest request{PathRequest::Kind::Folder, tr("Folder where state may live"), m_document.folder(), {}};
  m_chooser(this, request, [this, advice](const QStringList& paths) {
    if (paths.isEmpty()) return;
    Json folders = Json::array();
    folders.push_back(storedPath(paths.front(), m_document.folder()).toStdString());
    std::vector<ProjectChange> changes = advice.changes;
    for (ProjectChange& change : changes)
      if (change.value == someFolder) change.value = folders.dump();
    m_document.apply(changes);
  });
}

void ConfigurePage::goToProblem(const QString& key) {
  m_tabs->setCurrentIndex(key.isEmpty() ? jsonTabIndex : formTabIndex);
  if (key.isEmpty())
    m_json->revealProblem();
  else
    m_form->reveal(key);
}

void ConfigurePage::updateStart() {
  const QString why = m_document.isValid() && m_verdict == Verdict::DoesNotFit ? tr("It does not fit on this machine")
                                                                               : tr("The project is not valid yet");
  m_header->setStartEnabled(canStart(), why);
}

} // namespace millrace::ui
