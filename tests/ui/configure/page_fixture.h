// A Configure page with a project in a file, a planner that answers at once, and a chooser that needs no dialog.
#pragma once

#include "configure/configure_page.h"
#include "configure/project_form.h"
#include "configure/verdict_panel.h"
#include "fixtures.h"

#include <QAbstractButton>
#include <QSignalSpy>
#include <mutex>

namespace millrace::ui {

/// Answers with a report that tests set; counts what it was asked. Any thread.
class StubPlanner {
 public:
  void answer(Result<PlanReport> report) {
    const std::lock_guard lock(m_mutex);
    m_report = std::move(report);
  }
  std::vector<PlanQuestion> asked() {
    const std::lock_guard lock(m_mutex);
    return m_asked;
  }
  PlanFunction function() {
    return [this](const PlanQuestion& question, bool) -> Result<PlanReport> {
      const std::lock_guard lock(m_mutex);
      m_asked.push_back(question);
      return m_report;
    };
  }

 private:
  std::mutex m_mutex; ///< of both
  Result<PlanReport> m_report = sampleReport(Verdict::Fits, GiB, 2 * GiB);
  std::vector<PlanQuestion> m_asked;
};

struct PageFixture {
  explicit PageFixture(const QByteArray& project = sampleProject) {
    const QString path = folder.filePath("sample.json");
    QSignalSpy loaded(&document, &ProjectDocument::loaded);
    const bool written = writeAll(path, project) && writeAll(folder.filePath("a.txt"), "A goose.") &&
                         writeAll(folder.filePath("b.txt"), "A gander.");
    if (!written) qFatal("cannot write the project");
    document.load(path);
    if (!loaded.wait()) qFatal("the project was not loaded");
    page.resize(1200, 800);
    page.show();
  }
  ~PageFixture() { QThreadPool::globalInstance()->waitForDone(); } // the planner is used until then

  QString text() const { return toQt(document.text()); }
  QString value(const char* key) const { return valueText(document, key); }
  ProjectForm& form() { return *page.findChild<ProjectForm*>(); }
  VerdictPanel& panel() { return *page.findChild<VerdictPanel*>(); }
  FieldRow& row(const char* key) { return *form().rowOf(key); }
  /// The widget of the key's editor that is of this class.
  template <class Widget>
  Widget& widget(const char* key) {
    return *row(key).editor().findChild<Widget*>();
  }
  /// The button with this text inside a widget.
  static QAbstractButton& button(QWidget& inside, const QString& text) {
    for (QAbstractButton* button : inside.findChildren<QAbstractButton*>())
      if (button->text() == text) return *button;
    qFatal("no button %s", qPrintable(text));
  }
  QAbstractButton& button(const char* key, const QString& text) { return button(row(key).editor(), text); }

  QTemporaryDir folder;
  ProjectDocument document;
  StubPlanner planner;
  QStringList chosen; ///< what the chooser brings next
  std::vector<PathRequest> requests;
  ConfigurePage page{document,
                     [this](QWidget*, const PathRequest& request, const PathChosen& done) {
                       requests.push_back(request);
                       if (!chosen.isEmpty()) done(chosen);
                     },
                     planner.function()};
};

} // namespace millrace::ui
