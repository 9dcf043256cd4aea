// Editors of single values: numbers, sizes, texts, choices, switches. GUI thread.
#pragma once

#include "configure/field_editor.h"

class QCheckBox;
class QComboBox;
class QLabel;
class QLineEdit;

namespace millrace::ui {

class NumberSpinBox;

class NumberField : public FieldEditor {
  Q_OBJECT
 public:
  NumberField(const ProjectField& field, ProjectDocument& document, QWidget* parent);
  void refresh() override;

 private:
  NumberSpinBox* m_box;
};

/// Takes "24GiB" and says how many bytes that is.
class BytesField : public FieldEditor {
  Q_OBJECT
 public:
  BytesField(const ProjectField& field, ProjectDocument& document, QWidget* parent);
  void refresh() override;

 private:
  Json value() const;
  void explain();

  QLineEdit* m_edit;
  QLabel* m_bytes;
};

/// A line of text, or one with suggestions.
class TextField : public FieldEditor {
  Q_OBJECT
 public:
  TextField(const ProjectField& field, ProjectDocument& document, QWidget* parent);
  void refresh() override;

 private:
  void showPlaceholder();

  bool m_isName;
  QComboBox* m_suggestions = nullptr; ///< nullptr: none
  QLineEdit* m_edit;
};

class ChoiceField : public FieldEditor {
  Q_OBJECT
 public:
  ChoiceField(const ProjectField& field, ProjectDocument& document, QWidget* parent);
  void refresh() override;

 private:
  QString m_fallback;
  QComboBox* m_box;
};

class SwitchField : public FieldEditor {
  Q_OBJECT
 public:
  SwitchField(const ProjectField& field, ProjectDocument& document, QWidget* parent);
  void refresh() override;

 private:
  bool m_fallback;
  QCheckBox* m_box;
};

} // namespace millrace::ui
