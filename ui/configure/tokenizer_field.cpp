#include "configure/tokenizer_field.h"

#include <QComboBox>
#include <QSignalBlocker>
#include <QVBoxLayout>
#include <algorithm>

namespace millrace::ui {

namespace {

constexpr std::int64_t firstVocabulary = 8192;

} // namespace

TokenizerField::TokenizerField(ProjectDocument& project, QWidget* parent)
    : FieldEditor({"tokenizer"}, project, parent), m_kind(new QComboBox(this)) {
  m_kind->addItems({tr("The model folder's"), tr("A tokenizer.json"), tr("Train one on the data")});
  leaveWheelToPage(m_kind);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(m_kind, 0, Qt::AlignLeft);
  setFocusProxy(m_kind);
  connect(m_kind, &QComboBox::currentIndexChanged, this, &TokenizerField::choose);
  connect(&project, &ProjectDocument::replaced, this, [this] {
    m_file = false;
    refresh();
  });
  TokenizerField::refresh();
}

TokenizerField::Kind TokenizerField::kindOf() const {
  if (document().value("tokenizer.train")) return Training;
  return document().value("tokenizer.file") || m_file ? File : OfModel;
}

void TokenizerField::refresh() {
  if (isSet()) m_file = document().value("tokenizer.file") != nullptr;
  const Kind kind = kindOf();
  const QSignalBlocker quiet(m_kind);
  m_kind->setCurrentIndex(kind);
  const char* const keys[] = {"", "tokenizer.file", "tokenizer.train"};
  Q_EMIT chosen(keys[kind]);
}

void TokenizerField::choose(int kind) {
  m_file = kind == File;
  if (kind != Training) {
    document().removeValue("tokenizer");
    return refresh();
  }
  std::int64_t vocabulary = firstVocabulary;
  const Json* ofModel = document().value("model.config.vocab_size"); // an upper limit
  if (ofModel && ofModel->is_number_integer()) vocabulary = std::min(vocabulary, ofModel->get<std::int64_t>());
  document().setValue("tokenizer.train.vocabulary", vocabulary);
}

} // namespace millrace::ui
