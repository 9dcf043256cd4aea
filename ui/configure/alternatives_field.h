// One amount in one of several units, each a key that excludes the others: how long to train, how much makes a step.
// GUI thread.
#pragma once

#include "configure/field_editor.h"

class QComboBox;

namespace millrace::ui {

class NumberSpinBox;

class AlternativesField : public FieldEditor {
  Q_OBJECT
 public:
  /// The amount of one unit in another, as far as the project tells; else something to begin with.
  using Conversion = std::function<Json(const std::string& from, const Json& amount, const std::string& to)>;

  AlternativesField(std::vector<const ProjectField*> fields, Conversion convert, ProjectDocument& document,
                    QWidget* parent);
  bool hasDefault() const override;
  void refresh() override;
  void describe(const QString& name, const QString& help) override;

 private:
  const ProjectField& current() const;
  void choose(int index);

  std::vector<const ProjectField*> m_fields;
  Conversion m_convert;
  int m_index = 0; ///< of the unit that is shown; what the file gives, else what was chosen last
  NumberSpinBox* m_amount;
  QComboBox* m_unit;
};

/// training.steps, tokens, epochs, hours.
AlternativesField* makeLengthField(ProjectDocument& document, QWidget* parent);
/// training.micro_batches, tokens_per_step.
AlternativesField* makeStepSizeField(ProjectDocument& document, QWidget* parent);

} // namespace millrace::ui
