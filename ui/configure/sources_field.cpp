#include "configure/sources_field.h"

#include "configure/field_labels.h"
#include "configure/list_editor.h"
#include "configure/list_fields.h"
#include "configure/project_paths.h"

#include <QComboBox>
#include <QFileInfo>
#include <QGridLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSignalBlocker>

namespace millrace::ui {

namespace {

const ProjectField& fieldOf(const char* name) {
  return *findProjectField(std::string("data.sources.") + name);
}

Json pathOf(const Json& source) {
  if (source.is_string()) return source;
  return source.is_object() && source.contains("path") ? source["path"] : Json();
}

/// As short as the source was: one file stays a text where it was one.
Json pathJson(const QStringList& paths, const Json& before) {
  if (paths.size() == 1 && !before.is_array()) return paths.front().toStdString();
  return jsonOf(paths);
}

QString nameOf(const Json& source) {
  const Json path = pathOf(source);
  const QStringList paths = textsOf(&path);
  if (paths.isEmpty()) return SourcesField::tr("no files");
  const QString first = QFileInfo(paths.front()).fileName();
  if (paths.size() == 1) return first;
  return SourcesField::tr("%1 and %n more", nullptr, static_cast<int>(paths.size()) - 1).arg(first);
}

QLabel* makeLabel(const char* name, QWidget* buddy, QWidget* parent) {
  auto* label = new QLabel(fieldLabel(fieldOf(name).key), parent);
  label->setBuddy(buddy);
  for (QWidget* widget : {static_cast<QWidget*>(label), buddy}) widget->setToolTip(fieldHelp(fieldOf(name)));
  buddy->setAccessibleName(label->text());
  buddy->setAccessibleDescription(QString::fromStdString(fieldOf(name).meaning));
  return label;
}

} // namespace

SourcesField::SourcesField(ProjectDocument& project, const PathChooser& chooser, QWidget* parent)
    : FieldEditor({"data.sources"}, project, parent),
      m_chooser(chooser),
      m_choice(new QWidget(this)),
      m_source(new QComboBox(m_choice)),
      m_add(new QPushButton(tr("Add another sour&ce..."), this)),
      m_remove(new QPushButton(tr("R&emove this source"), m_choice)),
      m_files(new ListEditor(this)),
      m_format(new QComboBox(this)),
      m_textField(new QLineEdit(this)),
      m_separator(new QLineEdit(this)) {
  m_source->setAccessibleName(tr("Source"));
  m_source->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  m_source->setMinimumContentsLength(24);
  for (const std::string& word : fieldOf("format").words) m_format->addItem(QString::fromStdString(word));
  m_format->setPlaceholderText(fallbackText(fieldOf("format")));
  m_textField->setPlaceholderText(fallbackText(fieldOf("text_field")));
  m_separator->setPlaceholderText(tr("none: a file is one document"));
  m_add->setToolTip(tr("Files of another format, or with other separators"));
  for (QWidget* box : {m_source, m_format}) leaveWheelToPage(box);

  auto* choice = new QHBoxLayout(m_choice);
  choice->setContentsMargins(0, 0, 0, 0);
  choice->addWidget(m_source, 1);
  choice->addWidget(m_remove);
  auto* layout = new QGridLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setColumnStretch(1, 1);
  layout->addWidget(m_choice, 0, 0, 1, 2);
  layout->addWidget(m_files, 1, 0, 1, 2);
  layout->addWidget(makeLabel("format", m_format, this), 2, 0);
  layout->addWidget(m_format, 2, 1, Qt::AlignLeft);
  layout->addWidget(m_textFieldLabel = makeLabel("text_field", m_textField, this), 3, 0);
  layout->addWidget(m_textField, 3, 1);
  layout->addWidget(m_separatorLabel = makeLabel("separator", m_separator, this), 4, 0);
  layout->addWidget(m_separator, 4, 1);
  layout->addWidget(m_add, 5, 0, 1, 2, Qt::AlignLeft);
  setFocusProxy(m_files);

  connect(m_source, &QComboBox::currentIndexChanged, this, [this](int row) {
    m_current = row;
    showCurrent();
  });
  connect(m_add, &QPushButton::clicked, this, [this] { ask([this](const QStringList& paths) { addSource(paths); }); });
  connect(m_files, &ListEditor::addRequested, this,
          [this] { ask([this](const QStringList& paths) { m_files->append(paths); }); });
  connect(m_remove, &QPushButton::clicked, this, &SourcesField::removeSource);
  connect(m_files, &ListEditor::edited, this, &SourcesField::setPaths);
  connect(m_format, &QComboBox::currentTextChanged, this, [this](const QString& word) {
    if (m_format->currentIndex() >= 0) setDetail("format", word.toStdString());
  });
  const auto bind = [this](QLineEdit* edit, const char* name) {
    connect(edit, &QLineEdit::textEdited, this,
            [this, name](const QString& text) { setDetail(name, text.isEmpty() ? Json() : Json(text.toStdString())); });
  };
  bind(m_textField, "text_field");
  bind(m_separator, "separator");
  SourcesField::refresh();
}

void SourcesField::refresh() {
  const Json* value = document().value("data.sources");
  m_sources.clear();
  if (value && value->is_array())
    m_sources.assign(value->begin(), value->end());
  else if (value)
    m_sources.push_back(*value);
  m_current = std::clamp(m_current, m_sources.empty() ? -1 : 0, static_cast<int>(m_sources.size()) - 1);
  {
    const QSignalBlocker quiet(m_source);
    m_source->clear();
    int number = 0;
    for (const Json& source : m_sources) m_source->addItem(tr("%1: %2").arg(++number).arg(nameOf(source)));
    m_source->setCurrentIndex(m_current);
  }
  m_choice->setVisible(m_sources.size() > 1);
  m_add->setEnabled(!m_sources.empty());
  showCurrent();
}

void SourcesField::describe(const QString& name, const QString& help) {
  m_files->describe(tr("Files of %1").arg(name), help);
}

void SourcesField::showCurrent() {
  const Json source = m_current >= 0 ? m_sources[static_cast<std::size_t>(m_current)] : Json();
  const Json path = pathOf(source);
  m_files->showItems(textsOf(&path));
  const QSignalBlocker quiet(m_format);
  const QString format = detail("format");
  m_format->setCurrentIndex(m_format->findText(format));
  if (m_textField->text() != detail("text_field")) m_textField->setText(detail("text_field"));
  if (m_separator->text() != detail("separator")) m_separator->setText(detail("separator"));
  // What a format excludes is shown only where the file gives it all the same.
  const bool open = format.isEmpty() || format == "auto";
  const bool wantsField = open || format == "jsonl" || !m_textField->text().isEmpty();
  const bool wantsSeparator = open || format == "txt" || !m_separator->text().isEmpty();
  for (QWidget* widget : {static_cast<QWidget*>(m_textField), static_cast<QWidget*>(m_textFieldLabel)})
    widget->setVisible(wantsField);
  for (QWidget* widget : {static_cast<QWidget*>(m_separator), static_cast<QWidget*>(m_separatorLabel)})
    widget->setVisible(wantsSeparator);
  for (QWidget* widget :
       {static_cast<QWidget*>(m_format), static_cast<QWidget*>(m_textField), static_cast<QWidget*>(m_separator)})
    widget->setEnabled(m_current >= 0);
}

QString SourcesField::detail(const char* name) const {
  if (m_current < 0) return {};
  const Json& source = m_sources[static_cast<std::size_t>(m_current)];
  if (!source.is_object() || !source.contains(name) || !source[name].is_string()) return {};
  return QString::fromStdString(source[name].get<std::string>());
}

void SourcesField::ask(std::function<void(const QStringList&)> chosen) {
  const PathRequest request{PathRequest::Kind::OpenFiles, tr("Files to learn from"), document().folder(),
                            tr("All files (*);;Text (*.txt *.jsonl)")};
  m_chooser(this, request, [this, chosen = std::move(chosen)](const QStringList& paths) {
    QStringList stored;
    for (const QString& path : paths) stored << storedPath(path, document().folder());
    chosen(stored);
  });
}

void SourcesField::addSource(const QStringList& paths) {
  if (paths.isEmpty()) return;
  m_sources.push_back(paths.size() == 1 ? Json(paths.front().toStdString()) : Json{{"path", jsonOf(paths)}});
  m_current = static_cast<int>(m_sources.size()) - 1;
  commit();
}

void SourcesField::removeSource() {
  if (m_current < 0) return;
  m_sources.erase(m_sources.begin() + m_current);
  commit();
}

void SourcesField::setPaths(const QStringList& paths) {
  if (m_current < 0) {
    m_sources.push_back(Json());
    m_current = 0;
  }
  Json& source = m_sources[static_cast<std::size_t>(m_current)];
  const Json before = pathOf(source);
  const bool bare = !source.is_object();
  if (paths.isEmpty() && bare)
    m_sources.erase(m_sources.begin() + m_current);
  else if (bare && paths.size() == 1)
    source = paths.front().toStdString();
  else if (bare)
    source = Json{{"path", jsonOf(paths)}};
  else
    source["path"] = pathJson(paths, before);
  commit();
}

void SourcesField::setDetail(const std::string& name, const Json& value) {
  if (m_current < 0) return;
  Json& source = m_sources[static_cast<std::size_t>(m_current)];
  if (!source.is_object()) source = Json{{"path", source}};
  if (value.is_null())
    source.erase(name);
  else
    source[name] = value;
  commit();
}

void SourcesField::commit() {
  const Json* before = document().value("data.sources");
  if (m_sources.empty())
    document().removeValue("data.sources");
  else if (m_sources.size() == 1 && !(before && before->is_array()))
    document().setValue("data.sources", m_sources.front());
  else
    document().setValue("data.sources", Json(m_sources));
}

} // namespace millrace::ui
