#include "shell/templates.h"

#include <QCoreApplication>

namespace millrace::ui {

std::vector<ProjectTemplate> projectTemplates() {
  const auto tr = [](const char* text) { return QCoreApplication::translate("Templates", text); };
  return {
      {QStringLiteral("quickstart"), tr("Quickstart"),
       tr("A model of about four million parameters learns English from short texts, in about three minutes, on any "
          "machine."),
       QStringLiteral(":/projects/quickstart.json")}};
}

} // namespace millrace::ui
