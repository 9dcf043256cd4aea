#include "configure/alternatives_field.h"

#include "configure/field_labels.h"
#include "configure/number_spin_box.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QSignalBlocker>
#include <algorithm>

namespace millrace::ui {

namespace {

constexpr std::int64_t firstSteps = 1000;

/// The value of a whole number's key, or its default; 0 when it has neither.
std::int64_t count(const ProjectDocument& document, const std::string& key) {
  const Json* value = document.value(key);
  if (value && value->is_number()) return value->get<std::int64_t>();
  const std::string& fallback = findProjectField(key)->fallback;
  return fallback.empty() ? 0 : std::stoll(fallback);
}

std::int64_t microBatchTokens(const ProjectDocument& document) {
  return std::max<std::int64_t>(count(document, "training.micro_batch") * count(document, "training.context"), 1);
}

std::int64_t tokensPerStep(const ProjectDocument& document) {
  if (const std::int64_t given = count(document, "training.tokens_per_step"); given > 0) return given;
  return std::max<std::int64_t>(microBatchTokens(document) * count(document, "training.micro_batches"), 1);
}

std::vector<const ProjectField*> fieldsOf(const std::vector<std::string>& keys) {
  std::vector<const ProjectField*> fields;
  for (const std::string& key : keys) fields.push_back(findProjectField(key));
  return fields;
}

std::vector<std::string> keysOf(const std::vector<const ProjectField*>& fields) {
  std::vector<std::string> keys;
  for (const ProjectField* field : fields) keys.push_back(field->key);
  return keys;
}

} // namespace

AlternativesField::AlternativesField(std::vector<const ProjectField*> fields, Conversion convert,
                                     ProjectDocument& project, QWidget* parent)
    : FieldEditor(keysOf(fields), project, parent),
      m_fields(std::move(fields)),
      m_convert(std::move(convert)),
      m_amount(new NumberSpinBox(this)),
      m_unit(new QComboBox(this)) {
  for (const ProjectField* field : m_fields) {
    m_unit->addItem(QString::fromStdString(field->unit));
    m_unit->setItemData(m_unit->count() - 1, fieldHelp(*field), Qt::ToolTipRole);
  }
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(m_amount);
  layout->addWidget(m_unit);
  layout->addStretch();
  setFocusProxy(m_amount);
  leaveWheelToPage(m_amount);
  leaveWheelToPage(m_unit);
  m_amount->setField(current());
  connect(m_amount, &NumberSpinBox::edited, this,
          [this](const Json& value) { document().setValue(current().key, value); });
  connect(m_unit, &QComboBox::currentIndexChanged, this, &AlternativesField::choose);
  AlternativesField::refresh();
}

const ProjectField& AlternativesField::current() const {
  return *m_fields[static_cast<std::size_t>(m_index)];
}

bool AlternativesField::hasDefault() const {
  return std::any_of(m_fields.begin(), m_fields.end(), [](auto* field) { return !field->fallback.empty(); });
}

void AlternativesField::refresh() {
  for (std::size_t i = 0; i < m_fields.size(); ++i) {
    if (!document().value(m_fields[i]->key)) continue;
    m_index = static_cast<int>(i);
    break;
  }
  if (m_unit->currentIndex() != m_index) {
    const QSignalBlocker quiet(m_unit);
    m_unit->setCurrentIndex(m_index);
  }
  m_amount->setField(current());
  m_amount->showValue(document().value(current().key));
}

void AlternativesField::describe(const QString& name, const QString& help) {
  FieldEditor::describe(name, help);
  m_unit->setAccessibleName(tr("Unit of %1").arg(name));
}

void AlternativesField::choose(int index) {
  const std::string from = current().key;
  const Json* value = document().value(from);
  const Json amount = value ? *value : Json();
  m_index = index;
  // A default needs no key; a length has none, and needs one.
  if (amount.is_null() && !current().fallback.empty()) return refresh();
  document().setValue(current().key, m_convert(from, amount, current().key));
}

AlternativesField* makeLengthField(ProjectDocument& document, QWidget* parent) {
  const auto convert = [&document](const std::string& from, const Json& amount, const std::string& to) -> Json {
    const std::int64_t perStep = tokensPerStep(document);
    const std::int64_t most = findProjectField("training.tokens")->most / perStep;
    std::int64_t steps = firstSteps;
    if (amount.is_number() && from == "training.steps") steps = amount.get<std::int64_t>();
    if (amount.is_number() && from == "training.tokens") steps = amount.get<std::int64_t>() / perStep;
    steps = std::clamp<std::int64_t>(steps, 1, std::max<std::int64_t>(most, 1));
    if (to == "training.steps") return steps;
    if (to == "training.tokens") return steps * perStep;
    return 1;
  };
  return new AlternativesField(fieldsOf({"training.steps", "training.tokens", "training.epochs", "training.hours"}),
                               convert, document, parent);
}

AlternativesField* makeStepSizeField(ProjectDocument& document, QWidget* parent) {
  const auto convert = [&document](const std::string&, const Json& amount, const std::string& to) -> Json {
    const std::int64_t each = microBatchTokens(document);
    const std::int64_t given = amount.is_number() ? amount.get<std::int64_t>() : 0;
    if (to == "training.micro_batches") return std::max<std::int64_t>(given / each, 1);
    return std::max<std::int64_t>(given, 1) * each;
  };
  return new AlternativesField(fieldsOf({"training.micro_batches", "training.tokens_per_step"}), convert, document,
                               parent);
}

} // namespace millrace::ui
