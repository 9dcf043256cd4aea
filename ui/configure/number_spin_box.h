// A spin box for whole numbers up to 64 bits and for numbers of any magnitude; it may be empty, which is the default.
// Typing is free: what is out of range, or no number, is told to those who check it. GUI thread.
#pragma once

#include "configure/json_text.h"
#include "engine/project_fields.h"

#include <QAbstractSpinBox>

namespace millrace::ui {

class NumberSpinBox : public QAbstractSpinBox {
  Q_OBJECT
 public:
  explicit NumberSpinBox(QWidget* parent);

  /// Range, default and steps of the field. Counts of tokens step by doubling, all else by a tenth of the magnitude.
  void setField(const ProjectField& field);
  /// nullptr: empty. Does nothing where the text already says the value.
  void showValue(const Json* value);
  /// A number, or the text where that is none; null when empty.
  Json value() const;

  void stepBy(int steps) override;
  QValidator::State validate(QString& input, int& position) const override;
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override { return sizeHint(); }

 Q_SIGNALS:
  /// By a person.
  void edited(const millrace::Json& value);

 protected:
  StepEnabled stepEnabled() const override;

 private:
  Json stepped(const Json& value, bool up) const;
  Json steppedCount(std::int64_t value, bool up) const;
  Json steppedNumber(double value, bool up) const;

  ProjectField m_field;
};

} // namespace millrace::ui
