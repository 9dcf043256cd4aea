#include "runs/settings_panel.h"

#include "bridge/background.h"
#include "bridge/text.h"
#include "runs/difference_model.h"
#include "runs/plain_table.h"

#include <QLabel>
#include <QTreeView>
#include <QVBoxLayout>
#include <algorithm>
#include <memory>

namespace millrace::ui {

SettingsPanel::SettingsPanel(QWidget* parent)
    : QWidget(parent),
      m_model(new DifferenceModel(this)),
      m_text(new QLabel),
      m_table(plainTable(QStringLiteral("differences"), tr("Settings that differ"))) {
  m_table->setModel(m_model);
  m_table->setMinimumHeight(5 * fontMetrics().lineSpacing());
  m_text->setObjectName(QStringLiteral("differencesText"));
  m_text->setWordWrap(true);
  m_text->setTextFormat(Qt::PlainText);
  auto* layout = new QVBoxLayout(this);
  layout->addWidget(m_text, 0, Qt::AlignTop);
  layout->addWidget(m_table, 1);
  compare({});
}

void SettingsPanel::compare(const QStringList& runs) {
  ++m_question;
  Q_EMIT warned({});
  if (runs.size() < 2) {
    m_model->setDifferences({}, {});
    return setText(tr("Select two runs or more, or pin one as the baseline, to see which settings differ."));
  }
  setText(tr("Comparing…"));
  std::vector<Path> paths;
  for (const QString& run : runs) paths.push_back(toPath(run));
  const auto work = [paths] {
    LocalFileSystem files;
    return std::make_shared<Result<RunComparison>>(compareRuns(files, paths));
  };
  inBackground(this, work, [this, number = m_question](const std::shared_ptr<Result<RunComparison>>& comparison) {
    if (number == m_question) show(*comparison);
  });
}

void SettingsPanel::show(const Result<RunComparison>& comparison) {
  if (!comparison) {
    m_model->setDifferences({}, {});
    return setText(toQt(comparison.error().message));
  }
  QStringList names, warnings;
  for (const ComparedRun& run : comparison->runs) names << toQt(run.details.info.name);
  for (const std::string& warning : comparison->warnings) warnings << toQt(warning);
  m_model->setDifferences(names, comparison->settings);
  setText(comparison->settings.empty() ? tr("All settings are the same.") : QString());
  m_table->resizeColumnToContents(0);
  const int room = std::max(1, m_table->viewport()->width() - m_table->columnWidth(0));
  const int least = 20 * fontMetrics().averageCharWidth();
  for (int column = 1; column <= names.size(); ++column)
    m_table->setColumnWidth(column, std::max(least, room / static_cast<int>(names.size())));
  Q_EMIT warned(warnings);
}

void SettingsPanel::setText(const QString& text) {
  m_text->setText(text);
  m_text->setVisible(!text.isEmpty());
  m_table->setVisible(text.isEmpty());
}

} // namespace millrace::ui
