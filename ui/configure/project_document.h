// The project that the window works on: a text of JSON, what it says, its file, and whether the engine takes it. Owned
// by the shell, shared by the Configure page's widgets; GUI thread. Files are read and written, and the project is
// checked, in the background.
#pragma once

#include "configure/json_text.h"
#include "configure/project_lock.h"
#include "engine/plan.h"
#include "engine/project_file.h"

#include <QObject>
#include <QTimer>
#include <functional>
#include <optional>

namespace millrace::ui {

/// What is larger is no project, and would take long to lay out as text.
constexpr Bytes largestProject = MiB;

class ProjectDocument : public QObject {
  Q_OBJECT
 public:
  /// A new project, which lacks its model, data and length.
  explicit ProjectDocument(QObject* parent = nullptr);

  /// Empty: never saved.
  QString filePath() const { return m_filePath; }
  /// As the project gives it, else the file's name, else "untitled".
  QString name() const;
  /// What messages call the file.
  QString sourceName() const;
  /// What relative paths are relative to.
  QString folder() const;
  bool isDirty() const { return m_text != m_savedText; }
  /// The file is another program's to change: save() fails, and saveAs() to another one ends this.
  bool isReadOnly() const { return m_readOnly; }

  /// Whether another program has changed the file since it was read or written here, as far as was looked.
  bool isChangedOnDisk() const { return m_othersText.has_value(); }

  /// The text as it would be saved; perhaps not JSON while somebody edits it.
  const std::string& text() const { return m_text; }
  /// Whether the text is a JSON object. While it is not, json() is the last one that it was, and values cannot be set.
  bool isParsed() const { return !m_parseError; }
  const Json& json() const { return m_json; }
  /// What is wrong with the text as JSON, and at which byte of it.
  const std::optional<Error>& parseError() const { return m_parseError; }
  std::optional<std::size_t> parseErrorByte() const { return m_parseErrorByte; }
  /// What the last check found wrong; nothing while it is valid, or not checked yet.
  const std::optional<Error>& error() const { return m_error; }
  /// Whether the text as it is now was checked and found right.
  bool isValid() const { return m_checked && !m_error; }

  /// The value of a dotted key, or nullptr when it is missing or null; valid until the next change.
  const Json* value(std::string_view key) const;
  /// Sets a key, in place of those that it excludes. Null removes it.
  void setValue(std::string_view key, const Json& value);
  void removeValue(std::string_view key) { setValue(key, nullptr); }
  /// As an advice of the planner asks for: values are JSON, else texts; "null" removes.
  void apply(const std::vector<ProjectChange>& changes);
  void setText(std::string text);

  /// Begins anew with a text that is in no file; empty: with a project that lacks its model, data and length.
  void startNew(std::string text);
  /// For changes, or only to look and to save under another name.
  enum class Access { Changes, ReadOnly };
  /// Reads a file; then loaded(), or loadFailed() or openElsewhere() with everything as it was.
  void load(const QString& path, Access access = Access::Changes);
  /// Writes to the document's file; then saved() or saveFailed(). Fails when another program has changed the file
  /// since. Edits made meanwhile stay unsaved; while a file is written no other write begins.
  void save();
  /// Writes to another file, which becomes the document's. Relative paths go on meaning the same files.
  void saveAs(const QString& path);
  /// Looks whether another program has changed the file; then calls `then`. A look is taken now and then without it.
  void lookAtFile(std::function<void()> then = {});
  /// What another program wrote may be written over: the text as it is here stands, unsaved.
  void keepMine();

 Q_SIGNALS:
  /// The text, and with it values.
  void changed();
  void dirtyChanged(bool dirty);
  /// File path, name or isReadOnly().
  void titleChanged();
  /// The text was checked; see error(). key and message are empty when it is valid.
  void validated(bool valid, const QString& key, const QString& message);
  /// Another project took the place of the last one: new, or read from a file.
  void replaced();
  void loaded();
  void loadFailed(const QString& message);
  /// The file is open for changes in another program.
  void openElsewhere(const QString& path, const millrace::ui::ProjectHolder& holder);
  void saved();
  /// isChangedOnDisk() where that is the reason.
  void saveFailed(const QString& message);
  /// isChangedOnDisk() is another.
  void diskChanged(bool changed);

 private:
  /// What a change may make listeners want to know.
  struct Title {
    QString path, name;
    bool dirty = false, readOnly = false;
    bool operator==(const Title&) const = default;
  };

  Title title() const { return {m_filePath, name(), isDirty(), m_readOnly}; }
  void edit(std::string text);
  void replace(std::string text);
  void announce(const Title& before);
  void parse();
  void check();
  void finishCheck(quint64 revision, std::optional<Error> error);
  void write(const QString& path, std::string text, std::optional<std::string> expected);
  void setOnDisk(std::optional<std::string> text);
  void finishWrite(const QString& path, const std::string& text);
  /// Whether the lock of the file is held, or could not be had.
  bool isKept(const QString& path) const { return !m_readOnly && !path.isEmpty() && m_lock.project == path; }

  QString m_filePath;
  ProjectLock m_lock; ///< of the file
  bool m_readOnly = false;
  std::string m_text;
  std::string m_savedText;                 ///< as it is in the file
  std::optional<std::string> m_othersText; ///< that another program put there
  Json m_json = Json::object();
  std::optional<Error> m_parseError;
  std::optional<std::size_t> m_parseErrorByte;
  std::optional<Error> m_error;
  bool m_checked = false;
  quint64 m_revision = 0; ///< of the text; results for another one are out of date
  quint64 m_projects = 0; ///< that were replaced; what is written of an earlier one is not this one's
  quint64 m_loads = 0;    ///< begun; an earlier one that ends later is out of date
  quint64 m_touches = 0;  ///< of the file by us; what was seen of it before is out of date
  int m_looking = 0;      ///< looks at the file under way
  bool m_writing = false;
  QTimer m_checkTimer;
  QTimer m_lookTimer; ///< works on network file systems as well, and never holds the GUI thread up
};

} // namespace millrace::ui
