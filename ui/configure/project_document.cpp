#include "configure/project_document.h"

#include "bridge/background.h"
#include "bridge/text.h"
#include "configure/project_paths.h"
#include "engine/project_fields.h"

#include <QDir>
#include <QFileInfo>
#include <QSaveFile>

namespace millrace::ui {

namespace {

using namespace std::chrono_literals;

/// Typing goes on for so long before it is worth checking.
constexpr auto checkDelay = 150ms;
constexpr auto lookAgain = 2s;
constexpr const char* emptyProject = "{\n  \"format\": 1\n}\n";

std::string readOrEmpty(const QString& path) {
  LocalFileSystem files;
  return readTextFile(files, toPath(path), largestProject).value_or(std::string());
}

/// What the file holds; nothing: there is none.
std::optional<std::string> readIfThere(const QString& path) {
  if (!QFileInfo::exists(path)) return std::nullopt;
  return readOrEmpty(path);
}

struct WriteOutcome {
  QString problem;                   ///< empty: written
  std::optional<std::string> others; ///< in the way: what another program wrote
};

/// Written aside and renamed. expected: what the file must hold before, if it is there.
WriteOutcome writeFile(const QString& path, const std::string& text, const std::optional<std::string>& expected) {
  if (expected)
    if (auto found = readIfThere(path); found && *found != *expected)
      return {ProjectDocument::tr("%1 was changed by another program since it was read").arg(path), std::move(found)};
  QSaveFile file(path);
  const auto size = static_cast<qint64>(text.size());
  if (!file.open(QIODevice::WriteOnly) || file.write(text.data(), size) != size || !file.commit())
    return {ProjectDocument::tr("%1 cannot be written: %2").arg(path, file.errorString()), {}};
  return {};
}

} // namespace

ProjectDocument::ProjectDocument(QObject* parent) : QObject(parent) {
  m_checkTimer.setSingleShot(true);
  m_checkTimer.setInterval(checkDelay);
  connect(&m_checkTimer, &QTimer::timeout, this, &ProjectDocument::check);
  connect(&m_lookTimer, &QTimer::timeout, this, [this] {
    if (m_looking == 0 && !m_filePath.isEmpty()) lookAtFile();
  });
  m_lookTimer.start(lookAgain);
  startNew({});
}

QString ProjectDocument::name() const {
  const Json* name = value("name");
  if (name && name->is_string()) return QString::fromStdString(name->get<std::string>());
  return m_filePath.isEmpty() ? tr("untitled") : QFileInfo(m_filePath).completeBaseName();
}

QString ProjectDocument::sourceName() const {
  return m_filePath.isEmpty() ? tr("untitled") + ".json" : QFileInfo(m_filePath).fileName();
}

QString ProjectDocument::folder() const {
  return m_filePath.isEmpty() ? QDir::homePath() : QFileInfo(m_filePath).absolutePath();
}

const Json* ProjectDocument::value(std::string_view key) const {
  const Json* found = valueAt(m_json, key);
  return found && !found->is_null() ? found : nullptr;
}

void ProjectDocument::setValue(std::string_view key, const Json& value) {
  if (!isParsed()) return;
  if (value.is_null()) return edit(withoutKey(m_text, key));
  std::vector<std::string> excluded;
  for (std::size_t dot = key.find('.'); dot != key.npos; dot = key.find('.', dot + 1))
    for (std::string& other : excludedKeys(key.substr(0, dot))) excluded.push_back(std::move(other));
  for (std::string& other : excludedKeys(key)) excluded.push_back(std::move(other));
  edit(withValue(m_text, key, value, excluded));
}

void ProjectDocument::apply(const std::vector<ProjectChange>& changes) {
  for (const ProjectChange& change : changes) {
    const auto json = parseJson(change.value, change.key);
    setValue(change.key, json ? *json : Json(change.value));
  }
}

void ProjectDocument::setText(std::string text) {
  edit(std::move(text));
}

void ProjectDocument::startNew(std::string text) {
  const Title before = title();
  if (text.empty()) text = emptyProject;
  ++m_loads;
  ++m_projects;
  ++m_touches;
  m_filePath.clear();
  m_lock = {};
  m_readOnly = false;
  m_json = Json::object(); // nothing of the last project, should the text not parse
  m_savedText = text;
  replace(std::move(text));
  setOnDisk({});
  announce(before);
  Q_EMIT replaced();
}

void ProjectDocument::load(const QString& path, Access access) {
  struct Read {
    Result<std::string> text;
    ProjectLock lock;
  };
  const quint64 number = ++m_loads;
  const QString absolute = QFileInfo(path).absoluteFilePath();
  const bool locks = access == Access::Changes && !isKept(absolute);
  inBackground(
      this,
      [absolute, locks] {
        LocalFileSystem files;
        Read read{readTextFile(files, toPath(absolute), largestProject), {absolute, nullptr, std::nullopt}};
        if (read.text && locks) read.lock = lockProject(absolute);
        return read;
      },
      [this, number, absolute, access, locks](const Read& read) {
        if (number != m_loads) return;
        if (!read.text) {
          Q_EMIT loadFailed(QString::fromStdString(read.text.error().message));
          return;
        }
        if (read.lock.holder) {
          Q_EMIT openElsewhere(absolute, *read.lock.holder);
          return;
        }
        const Title before = title();
        ++m_projects;
        ++m_touches;
        m_filePath = absolute;
        if (locks || access == Access::ReadOnly) m_lock = read.lock;
        m_readOnly = access == Access::ReadOnly;
        m_json = Json::object();
        m_savedText = *read.text;
        replace(*read.text);
        setOnDisk({});
        announce(before);
        Q_EMIT replaced();
        Q_EMIT loaded();
      });
}

void ProjectDocument::save() {
  if (m_filePath.isEmpty()) {
    Q_EMIT saveFailed(tr("The project has no file yet: choose one with Save as"));
    return;
  }
  if (m_readOnly) {
    Q_EMIT saveFailed(tr("The file is open in another program: save the project under another name"));
    return;
  }
  write(m_filePath, m_text, m_savedText);
}

void ProjectDocument::saveAs(const QString& path) {
  const QString absolute = QFileInfo(path).absoluteFilePath();
  write(absolute, movedText(m_text, folder(), QFileInfo(absolute).absolutePath()), std::nullopt);
}

void ProjectDocument::write(const QString& path, std::string text, std::optional<std::string> expected) {
  struct Written {
    WriteOutcome outcome;
    ProjectLock lock;
  };
  if (m_writing) return;
  m_writing = true;
  inBackground(
      this,
      [path, text, expected = std::move(expected), locks = !isKept(path)] {
        Written written;
        if (locks) written.lock = lockProject(path);
        if (const auto& holder = written.lock.holder)
          written.outcome.problem = tr("%1 is open in %2: choose another name").arg(path, holderText(*holder));
        else
          written.outcome = writeFile(path, text, expected);
        return written;
      },
      [this, path, text, project = m_projects](const Written& written) {
        m_writing = false;
        ++m_touches;
        if (project != m_projects) return; // it was the last one's
        const WriteOutcome& outcome = written.outcome;
        if (outcome.problem.isEmpty()) {
          if (!isKept(path)) m_lock = written.lock;
          return finishWrite(path, text);
        }
        if (outcome.others) setOnDisk(outcome.others);
        Q_EMIT saveFailed(outcome.problem);
      });
}

void ProjectDocument::finishWrite(const QString& path, const std::string& text) {
  const Title before = title();
  std::string current = movedText(m_text, folder(), QFileInfo(path).absolutePath());
  const bool moved = m_filePath != path;
  m_filePath = path;
  m_readOnly = false;
  m_savedText = text;
  if (moved) replace(std::move(current)); // checked anew: messages name the file
  setOnDisk({});
  announce(before);
  Q_EMIT saved();
}

void ProjectDocument::lookAtFile(std::function<void()> then) {
  ++m_looking;
  inBackground(
      this, [path = m_filePath] { return readIfThere(path); },
      [this, touches = m_touches, then = std::move(then)](const std::optional<std::string>& text) {
        --m_looking;
        if (touches == m_touches && !m_writing) setOnDisk(text);
        if (then) then();
      });
}

/// text: what is in the file; nothing: what was read or written here, or no file any more.
void ProjectDocument::setOnDisk(std::optional<std::string> text) {
  if (text && *text == m_savedText) text.reset();
  const bool before = isChangedOnDisk();
  m_othersText = std::move(text);
  if (m_othersText && *m_othersText == m_text) return keepMine(); // the other wrote the same
  if (before != isChangedOnDisk()) Q_EMIT diskChanged(isChangedOnDisk());
}

void ProjectDocument::keepMine() {
  if (!m_othersText) return;
  const Title before = title();
  m_savedText = *std::exchange(m_othersText, std::nullopt);
  announce(before);
  Q_EMIT diskChanged(false);
}

void ProjectDocument::edit(std::string text) {
  if (text == m_text) return;
  const Title before = title();
  replace(std::move(text));
  announce(before);
}

void ProjectDocument::replace(std::string text) {
  m_text = std::move(text);
  ++m_revision;
  m_checked = false;
  parse();
  m_checkTimer.start();
  Q_EMIT changed();
}

void ProjectDocument::announce(const Title& before) {
  const Title now = title();
  if (now.path != before.path || now.name != before.name || now.readOnly != before.readOnly) Q_EMIT titleChanged();
  if (now.dirty != before.dirty) Q_EMIT dirtyChanged(now.dirty);
}

void ProjectDocument::parse() {
  m_parseErrorByte.reset();
  m_parseError.reset();
  auto json = parseJson(m_text, sourceName().toStdString(), &m_parseErrorByte);
  if (!json) {
    m_parseError = std::move(json.error());
  } else if (!json->is_object()) {
    m_parseError = Error{ErrorKind::BadInput, tr("The text holds no JSON object").toStdString()};
    m_parseErrorByte = 0;
  } else {
    m_json = std::move(*json);
  }
}

void ProjectDocument::check() {
  const quint64 revision = m_revision;
  if (m_parseError) return finishCheck(revision, m_parseError);
  inBackground(
      this,
      [text = m_text, source = sourceName().toStdString(), folder = toPath(folder())]() -> std::optional<Error> {
        const auto project = parseProject(text, source, folder);
        if (!project) return project.error();
        return std::nullopt;
      },
      [this, revision](const std::optional<Error>& error) { finishCheck(revision, error); });
}

void ProjectDocument::finishCheck(quint64 revision, std::optional<Error> error) {
  if (revision != m_revision) return;
  m_checked = true;
  m_error = std::move(error);
  Q_EMIT validated(!m_error, m_error ? QString::fromStdString(m_error->key) : QString(),
                   m_error ? QString::fromStdString(m_error->message) : QString());
}

} // namespace millrace::ui
