#include "configure/model_field.h"

#include "configure/field_labels.h"
#include "configure/path_field.h"
#include "engine/model_presets.h"
#include "style/status_colors.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSignalBlocker>
#include <QStackedWidget>

namespace millrace::ui {

namespace {

/// "7e9", "7B", "350 M", "1.5T".
std::optional<double> parseCount(QString text) {
  text = text.trimmed();
  double factor = 1;
  const QString letters = QStringLiteral("KMBT");
  if (!text.isEmpty()) {
    if (const auto power = letters.indexOf(text.back().toUpper()); power >= 0) {
      for (qsizetype i = 0; i <= power; ++i) factor *= 1000;
      text.chop(1);
    }
  }
  bool isNumber = false;
  const double value = text.trimmed().remove(u',').toDouble(&isNumber);
  if (!isNumber) return std::nullopt;
  return value * factor;
}

/// What a config says of its shape, for people.
QString summary(const Json& config) {
  QStringList parts;
  const auto add = [&](const char* key, const QString& text) {
    if (config.contains(key) && config[key].is_number())
      parts << text.arg(QString::fromStdString(formatCount(config[key].get<std::int64_t>())));
  };
  if (config.contains("model_type") && config["model_type"].is_string())
    parts << QString::fromStdString(config["model_type"].get<std::string>());
  add(config.contains("n_layer") ? "n_layer" : "num_hidden_layers", ModelField::tr("%1 layers"));
  add(config.contains("n_embd") ? "n_embd" : "hidden_size", ModelField::tr("%1 wide"));
  add("vocab_size", ModelField::tr("vocabulary of %1"));
  add(config.contains("n_positions") ? "n_positions" : "max_position_embeddings", ModelField::tr("%1 positions"));
  return parts.join(", ");
}

QLabel* makeText(QWidget* parent) {
  auto* label = new QLabel(parent);
  label->setWordWrap(true);
  label->setTextFormat(Qt::PlainText);
  return label;
}

} // namespace

ModelField::ModelField(ProjectDocument& project, const PathChooser& chooser, QWidget* parent)
    : FieldEditor({"model.folder", "model.config", "model"}, project, parent),
      m_kind(new QComboBox(this)),
      m_pages(new QStackedWidget(this)) {
  for (const ModelPreset& preset : modelPresets()) {
    const auto config = presetConfig(preset.name);
    if (!config) continue;
    m_shapes.push_back({QString::fromStdString(preset.name), QString::fromStdString(preset.description),
                        Json::parse(config->text), nlohmann::json::parse(config->text)});
  }
  m_kind->addItem(tr("Hugging Face folder, with its weights"));
  m_kind->addItem(tr("config.json, with random weights"));
  m_kind->addItem(tr("Published shape, with random weights"));
  m_kind->addItem(tr("Number of parameters, with random weights"));
  m_kind->addItem(tr("Config in the project, with random weights"));
  leaveWheelToPage(m_kind);

  m_inside = makeText(this);
  m_inside->setAlignment(Qt::AlignLeft | Qt::AlignTop);
  auto* folder = new PathField(*findProjectField("model.folder"), project, chooser, m_pages);
  auto* config = new PathField(*findProjectField("model.config"), project, chooser, m_pages);
  folder->describe(fieldLabel("model.folder"), fieldHelp(*findProjectField("model.folder")));
  config->describe(fieldLabel("model.config"), fieldHelp(*findProjectField("model.config")));
  for (QWidget* page : {static_cast<QWidget*>(folder), static_cast<QWidget*>(config), makePresetPage(), makeSizePage(),
                        static_cast<QWidget*>(m_inside)})
    m_pages->addWidget(page);

  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(m_kind, 0, Qt::AlignLeft);
  layout->addWidget(m_pages);
  setFocusProxy(m_kind);
  connect(m_kind, &QComboBox::currentIndexChanged, this, &ModelField::choose);
  connect(&project, &ProjectDocument::replaced, this, [this] {
    m_pages->setCurrentIndex(Folder);
    refresh();
  });
  ModelField::refresh();
}

QWidget* ModelField::makePresetPage() {
  auto* page = new QWidget(m_pages);
  m_preset = new QComboBox(page);
  for (const Shape& shape : m_shapes) {
    m_preset->addItem(shape.name);
    m_preset->setItemData(m_preset->count() - 1, shape.description, Qt::ToolTipRole);
  }
  m_preset->setPlaceholderText(tr("choose a shape"));
  m_preset->setCurrentIndex(-1);
  m_preset->setMinimumContentsLength(18);
  m_preset->setAccessibleName(tr("Published shape"));
  leaveWheelToPage(m_preset);
  m_presetText = makeText(page);
  auto* layout = new QVBoxLayout(page);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(m_preset, 0, Qt::AlignLeft);
  layout->addWidget(m_presetText);
  layout->addStretch();
  connect(m_preset, &QComboBox::currentIndexChanged, this, &ModelField::usePreset);
  return page;
}

QWidget* ModelField::makeSizePage() {
  auto* page = new QWidget(m_pages);
  m_size = new QLineEdit(page);
  m_size->setPlaceholderText(tr("such as 350M, 7B or 4.05e11"));
  m_size->setAccessibleName(tr("Number of parameters"));
  m_size->setMaximumWidth(m_size->fontMetrics().horizontalAdvance(QString(30, u'0')));
  auto* use = new QPushButton(tr("Us&e"), page);
  use->setAccessibleName(tr("Use a model of this size"));
  m_sizeText = makeText(page);
  auto* row = new QHBoxLayout;
  row->addWidget(m_size);
  row->addWidget(use);
  row->addStretch();
  auto* layout = new QVBoxLayout(page);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addLayout(row);
  layout->addWidget(m_sizeText);
  layout->addStretch();
  connect(m_size, &QLineEdit::returnPressed, this, &ModelField::useSize);
  connect(use, &QPushButton::clicked, this, &ModelField::useSize);
  return page;
}

ModelField::Kind ModelField::kindOf() const {
  if (document().value("model.folder")) return Folder;
  const Json* config = document().value("model.config");
  const auto shown = static_cast<Kind>(m_pages->currentIndex());
  if (!config) return shown == Inside ? Folder : shown;
  if (!config->is_object()) return ConfigFile;
  if (shown == Size) return Size;
  return presetOf() >= 0 ? Preset : Inside;
}

int ModelField::presetOf() const {
  const Json* config = document().value("model.config");
  if (!config || !config->is_object()) return -1;
  const nlohmann::json unordered = *config;
  for (std::size_t i = 0; i < m_shapes.size(); ++i)
    if (m_shapes[i].unordered == unordered) return static_cast<int>(i);
  return -1;
}

void ModelField::refresh() {
  const Json* config = document().value("model.config");
  const bool inside = config && config->is_object();
  const int preset = presetOf();
  showKind(kindOf());
  {
    const QSignalBlocker quiet(m_preset);
    m_preset->setCurrentIndex(preset);
  }
  m_presetText->setText(preset >= 0 ? m_shapes[static_cast<std::size_t>(preset)].description : QString());
  const QString text = inside ? summary(*config) : QString();
  m_inside->setText(text.isEmpty() ? tr("The JSON tab shows it.") : tr("%1. The JSON tab shows it.").arg(text));
  m_sizeText->setText(text);
}

void ModelField::showKind(Kind kind) {
  const QSignalBlocker quiet(m_kind);
  m_kind->setCurrentIndex(kind);
  m_pages->setCurrentIndex(kind);
  // As tall as the page that is shown, not as the tallest one.
  for (int i = 0; i < m_pages->count(); ++i)
    m_pages->widget(i)->setSizePolicy(QSizePolicy::Preferred,
                                      i == kind ? QSizePolicy::Preferred : QSizePolicy::Ignored);
}

void ModelField::choose(int kind) {
  // Nothing is written before there is something to write; what is there stays until then.
  showKind(static_cast<Kind>(kind));
  if (QWidget* page = m_pages->currentWidget(); kind == Folder || kind == ConfigFile) page->setFocus();
  if (kind == Preset) m_preset->setFocus();
  if (kind == Size) m_size->setFocus();
}

void ModelField::usePreset(int index) {
  if (index >= 0) document().setValue("model.config", m_shapes[static_cast<std::size_t>(index)].config);
}

void ModelField::useSize() {
  const auto parameters = parseCount(m_size->text());
  if (!parameters) {
    m_sizeText->setText(tr("'%1' is not a number of parameters").arg(m_size->text()));
    return;
  }
  const auto config = modelOfSize(*parameters);
  if (!config)
    m_sizeText->setText(QString::fromStdString(config.error().message));
  else
    document().setValue("model.config", Json::parse(config->text));
}

} // namespace millrace::ui
