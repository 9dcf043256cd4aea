#include "configure/project_paths.h"

#include "engine/project_fields.h"

#include <QDir>

namespace millrace::ui {

namespace {

bool holdsPaths(FieldKind kind) {
  return kind == FieldKind::File || kind == FieldKind::Folder || kind == FieldKind::Files ||
         kind == FieldKind::Folders || kind == FieldKind::Sources;
}

/// Changes the paths of a value that is one, a list of them, or objects that hold some under "path".
void move(Json& value, const QString& from, const QString& to) {
  if (value.is_string()) {
    const QString stored = QString::fromStdString(value.get<std::string>());
    if (!stored.isEmpty() && QDir::isRelativePath(stored))
      value = storedPath(meantPath(stored, from), to).toStdString();
  } else if (value.is_array()) {
    for (Json& element : value) move(element, from, to);
  } else if (value.is_object() && value.contains("path")) {
    move(value["path"], from, to);
  }
}

} // namespace

QString storedPath(const QString& path, const QString& folder) {
  const QString clean = QDir::cleanPath(path);
  const QString prefix = QDir::cleanPath(folder) + (folder.endsWith(u'/') ? "" : "/");
  return clean.startsWith(prefix) && clean != prefix ? clean.mid(prefix.size()) : clean;
}

QString meantPath(const QString& stored, const QString& folder) {
  return QDir::cleanPath(QDir(folder).absoluteFilePath(stored));
}

std::string movedText(std::string text, const QString& from, const QString& to) {
  if (QDir::cleanPath(from) == QDir::cleanPath(to)) return text;
  const auto json = parseJson(text, "");
  if (!json) return text;
  for (const ProjectField& field : projectFields()) {
    // What is inside a source moves with it; a config that is an object names no file.
    if (!holdsPaths(field.kind) || field.key == "data.sources.path") continue;
    const Json* value = valueAt(*json, field.key);
    if (!value || (value->is_object() && field.kind != FieldKind::Sources)) continue;
    Json moved = *value;
    move(moved, from, to);
    text = withValue(text, field.key, moved);
  }
  return text;
}

} // namespace millrace::ui
