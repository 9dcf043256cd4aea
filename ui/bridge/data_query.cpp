#include "bridge/data_query.h"

#include "bridge/background.h"
#include "bridge/text.h"
#include "engine/data_check.h"
#include "engine/project_file.h"

namespace millrace::ui {

void DataQuery::ask(PlanQuestion question) {
  m_question = std::move(question);
  ++m_number;
  if (!m_looking && !m_question.text.empty()) look();
}

void DataQuery::look() {
  m_looking = true;
  const auto work = [question = m_question]() -> Status {
    MILLRACE_TRY(const Project project, parseProject(question.text, question.source, question.folder));
    LocalFileSystem files;
    return checkData(files, project);
  };
  inBackground(this, work, [this, number = m_number](const Status& status) {
    m_looking = false;
    if (m_question.text.empty()) return;
    if (number != m_number) return look(); // it was another question
    Q_EMIT answered(status ? QString() : toQt(status.error().key), status ? QString() : toQt(status.error().message));
  });
}

} // namespace millrace::ui
