// An editor of one project field, or of several that belong together. It shows what the document says and writes each
// edit into it at once, right or wrong: the engine's check decides. Owned by the form; GUI thread.
#pragma once

#include "configure/path_chooser.h"
#include "configure/project_document.h"
#include "engine/project_fields.h"

#include <QWidget>

namespace millrace::ui {

class FieldEditor : public QWidget {
  Q_OBJECT
 public:
  /// keys: dotted; problems at these, and at keys inside them, belong to this editor.
  FieldEditor(std::vector<std::string> keys, ProjectDocument& document, QWidget* parent);

  const std::vector<std::string>& keys() const { return m_keys; }
  /// Whether the file gives any of the keys.
  bool isSet() const;
  /// Leaves the keys to their defaults.
  void reset();
  /// Whether there is something to reset to.
  virtual bool hasDefault() const { return true; }
  /// Shows what the document says, without writing to it.
  virtual void refresh() = 0;
  /// For screen readers: what the editor as a whole is.
  virtual void describe(const QString& name, const QString& help);

 protected:
  ProjectDocument& document() const { return m_document; }

 private:
  std::vector<std::string> m_keys;
  ProjectDocument& m_document;
};

/// The editor that fits the field's kind. Not for Sources and Files, which have one together.
FieldEditor* makeEditor(const ProjectField& field, ProjectDocument& document, const PathChooser& chooser,
                        QWidget* parent);

/// Lets the wheel scroll the page instead of changing a value that has no focus.
void leaveWheelToPage(QWidget* widget);

} // namespace millrace::ui
