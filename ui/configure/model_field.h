// Which model: a Hugging Face folder, a config.json, a published shape by its name, or one of a size. Shapes are
// written into the project as its config. GUI thread; presets are compiled in, nothing is read.
#pragma once

#include "configure/field_editor.h"

class QComboBox;
class QLabel;
class QLineEdit;
class QStackedWidget;

namespace millrace::ui {

class ModelField : public FieldEditor {
  Q_OBJECT
 public:
  ModelField(ProjectDocument& document, const PathChooser& chooser, QWidget* parent);
  bool hasDefault() const override { return false; }
  void refresh() override;

 private:
  enum Kind { Folder, ConfigFile, Preset, Size, Inside };
  struct Shape {
    QString name, description;
    Json config;
    nlohmann::json unordered; ///< to compare with configs whose keys are in another order
  };

  QWidget* makePresetPage();
  QWidget* makeSizePage();
  Kind kindOf() const;
  void choose(int kind);
  void usePreset(int index);
  void useSize();
  /// Index in m_shapes of the shape that the project's config is; -1: none.
  int presetOf() const;
  void showKind(Kind kind);

  std::vector<Shape> m_shapes;
  QComboBox* m_kind;
  QStackedWidget* m_pages;
  QComboBox* m_preset;
  QLabel* m_presetText;
  QLineEdit* m_size;
  QLabel* m_sizeText;
  QLabel* m_inside;
};

} // namespace millrace::ui
