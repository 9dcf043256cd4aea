// Which tokenizer: the model folder's, a tokenizer.json, or one that is trained on the data. GUI thread.
#pragma once

#include "configure/field_editor.h"

class QComboBox;

namespace millrace::ui {

class TokenizerField : public FieldEditor {
  Q_OBJECT
 public:
  TokenizerField(ProjectDocument& document, QWidget* parent);
  void refresh() override;

 Q_SIGNALS:
  /// Which of the keys have a meaning now: "tokenizer.file", "tokenizer.train", or neither.
  void chosen(const QString& key);

 private:
  enum Kind { OfModel, File, Training };
  Kind kindOf() const;
  void choose(int kind);

  bool m_file = false; ///< chosen, though no file is given yet
  QComboBox* m_kind;
};

} // namespace millrace::ui
