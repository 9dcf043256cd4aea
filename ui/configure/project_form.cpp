#include "configure/project_form.h"

#include "configure/alternatives_field.h"
#include "configure/field_labels.h"
#include "configure/model_field.h"
#include "configure/sources_field.h"
#include "configure/tokenizer_field.h"
#include "style/status_colors.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QListWidget>
#include <QStackedWidget>

namespace millrace::ui {

namespace {

constexpr const char* sectionNames[] = {"model",  "tokenizer",  "data",       "training",
                                        "memory", "checkpoint", "evaluation", "samples"};

/// Keys that editors of their own take together, or that nobody edits.
bool isGeneric(const ProjectField& field) {
  static const std::vector<std::string> others = {"format",
                                                  "name",
                                                  "model.folder",
                                                  "model.config",
                                                  "training.steps",
                                                  "training.tokens",
                                                  "training.epochs",
                                                  "training.hours",
                                                  "training.micro_batches",
                                                  "training.tokens_per_step"};
  if (field.section() == "tokenizer" || field.key.starts_with("data.sources")) return false;
  return std::find(others.begin(), others.end(), field.key) == others.end();
}

QString helpOf(std::initializer_list<const char*> keys) {
  QString help;
  for (const char* key : keys) help += fieldHelp(*findProjectField(key));
  return help.replace("</qt><qt>", "<br><br>");
}

} // namespace

ProjectForm::ProjectForm(ProjectDocument& document, const PathChooser& chooser, QWidget* parent)
    : QWidget(parent),
      m_document(document),
      m_chooser(chooser),
      m_list(new QListWidget(this)),
      m_pages(new QStackedWidget(this)),
      m_problem(new QLabel(this)) {
  for (const char* name : sectionNames) {
    const QString title = sectionLabel(name);
    auto* section = new FormSection(title, m_pages);
    m_pages->addWidget(section);
    m_list->addItem(title);
    m_sections.emplace_back(name, section);
  }
  addModel();
  addTokenizer();
  addRow(sectionOf("data"), fieldLabel("data.sources"), new SourcesField(document, chooser, this), {},
         helpOf({"data.sources", "data.sources.path"}), false);
  FormSection& training = sectionOf("training");
  addRow(training, tr("Train for"), makeLengthField(document, this), {},
         helpOf({"training.steps", "training.tokens", "training.epochs", "training.hours"}), false);
  for (const ProjectField& field : projectFields()) {
    if (isGeneric(field)) addField(sectionOf(field.section()), field);
    if (field.key == "training.tokens_per_step")
      addRow(training, tr("Optimizer step"), makeStepSizeField(document, this), {},
             helpOf({"training.micro_batches", "training.tokens_per_step"}), false);
  }

  m_list->setAccessibleName(tr("Sections"));
  m_list->setIconSize(QSize(14, 14));
  m_list->setSpacing(2);
  m_list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  m_list->setFixedWidth(m_list->sizeHintForColumn(0) + 2 * m_list->frameWidth() + 40);
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(m_list);
  auto* right = new QVBoxLayout;
  right->addWidget(m_pages, 1);
  right->addWidget(m_problem);
  layout->addLayout(right, 1);
  m_problem->setObjectName(QStringLiteral("fieldProblem"));
  m_problem->setWordWrap(true);
  m_problem->setTextFormat(Qt::PlainText);
  m_problem->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  m_problem->hide();
  connect(m_list, &QListWidget::currentRowChanged, m_pages, &QStackedWidget::setCurrentIndex);
  m_list->setCurrentRow(0);
}

FormSection& ProjectForm::sectionOf(const std::string& name) {
  for (auto& [section, page] : m_sections)
    if (section == name) return *page;
  return *m_sections.front().second;
}

void ProjectForm::addModel() {
  FormSection& section = sectionOf("model");
  addField(section, *findProjectField("name"));
  addRow(section, sectionLabel("model"), new ModelField(m_document, m_chooser, this), {},
         helpOf({"model.folder", "model.config"}), false);
}

void ProjectForm::addTokenizer() {
  FormSection& section = sectionOf("tokenizer");
  auto* tokenizer = new TokenizerField(m_document, this);
  addRow(section, sectionLabel("tokenizer"), tokenizer, {}, helpOf({"tokenizer.file", "tokenizer.train.vocabulary"}),
         false);
  for (const ProjectField& field : projectFields())
    if (field.section() == "tokenizer") addField(section, field);
  const auto showWanted = [&section](const QString& chosen) {
    for (FieldRow* row : section.rows()) {
      const std::string& key = row->editor().keys().front();
      row->setVisible(key == "tokenizer" || (!chosen.isEmpty() && key.starts_with(chosen.toStdString())));
    }
  };
  connect(tokenizer, &TokenizerField::chosen, this, showWanted);
  tokenizer->refresh();
}

void ProjectForm::addField(FormSection& section, const ProjectField& field) {
  addRow(section, fieldLabel(field.key), makeEditor(field, m_document, m_chooser, this),
         QString::fromStdString(field.unit), fieldHelp(field), field.advanced);
}

FieldRow* ProjectForm::addRow(FormSection& section, const QString& label, FieldEditor* editor, const QString& unit,
                              const QString& help, bool advanced) {
  auto* row = new FieldRow(label, editor, unit, help, m_document, &section);
  section.addRow(row, advanced);
  return row;
}

FieldRow* ProjectForm::rowOf(const QString& key) const {
  FieldRow* best = nullptr;
  std::size_t length = 0;
  for (const auto& [name, section] : m_sections)
    for (FieldRow* row : section->rows())
      if (const std::size_t match = row->matchOf(key.toStdString()); match > length) {
        best = row;
        length = match;
      }
  return best;
}

bool ProjectForm::showProblem(const QString& key, const QString& message) {
  FieldRow* const at = message.isEmpty() ? nullptr : rowOf(key);
  for (const auto& [name, section] : m_sections) {
    for (FieldRow* row : section->rows()) {
      const QString wanted = row == at ? message : QString();
      if (row->problem() != wanted) row->setProblem(wanted);
    }
    section->showProblems();
  }
  markSections();
  m_problem->setText(at ? tr("%1: %2").arg(at->label(), message) : QString());
  m_problem->setVisible(at);
  colorProblem();
  return at != nullptr;
}

void ProjectForm::reveal(const QString& key) {
  FieldRow* const row = rowOf(key);
  for (int i = 0; row && i < static_cast<int>(m_sections.size()); ++i) {
    FormSection* const section = m_sections[static_cast<std::size_t>(i)].second;
    if (!section->isAncestorOf(row)) continue;
    m_list->setCurrentRow(i);
    section->reveal(row);
  }
}

void ProjectForm::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() != QEvent::PaletteChange) return;
  markSections();
  colorProblem();
}

void ProjectForm::colorProblem() {
  QPalette colors = palette();
  colors.setColor(QPalette::WindowText, statusColor(StatusKind::Bad, palette()));
  m_problem->setPalette(colors);
}

void ProjectForm::markSections() {
  QIcon sign = statusIcon(StatusKind::Bad, palette());
  const int size = m_list->iconSize().width(); // styles tint what is selected unless it is drawn for that
  sign.addPixmap(statusPixmap(StatusKind::Bad, palette(), size, devicePixelRatioF()), QIcon::Selected);
  for (int i = 0; i < static_cast<int>(m_sections.size()); ++i) {
    const bool wrong = m_sections[static_cast<std::size_t>(i)].second->hasProblem();
    QListWidgetItem* const item = m_list->item(i);
    item->setIcon(wrong ? sign : QIcon());
    item->setData(Qt::AccessibleTextRole, wrong ? tr("%1, has an error").arg(item->text()) : item->text());
  }
}

} // namespace millrace::ui
