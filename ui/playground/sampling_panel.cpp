#include "playground/sampling_panel.h"

#include <QCheckBox>
#include <QDoubleSpinBox>
#include <QFormLayout>
#include <QLabel>
#include <QPlainTextEdit>
#include <QSpinBox>
#include <limits>

namespace millrace::ui {

namespace {

constexpr int mostTokens = 1'000'000;
constexpr int stopLines = 3; ///< that are seen

/// "\n" and "\t" as they are typed in one line, "\\" for a backslash.
QString unescaped(const QString& line) {
  QString text;
  for (qsizetype i = 0; i < line.size(); ++i) {
    if (line[i] != u'\\' || i + 1 == line.size()) {
      text += line[i];
      continue;
    }
    const QChar next = line[++i];
    if (next == u'n')
      text += u'\n';
    else if (next == u't')
      text += u'\t';
    else if (next == u'\\')
      text += next;
    else
      text += QString(u'\\') + next;
  }
  return text;
}

QDoubleSpinBox* makeNumber(const QString& name, double least, double most, double step, double value) {
  auto* box = new QDoubleSpinBox;
  box->setObjectName(name);
  box->setDecimals(3);
  box->setRange(least, most);
  box->setSingleStep(step);
  box->setValue(value);
  return box;
}

QSpinBox* makeCount(const QString& name, int least, int most, qint64 value) {
  auto* box = new QSpinBox;
  box->setObjectName(name);
  box->setRange(least, most);
  box->setValue(static_cast<int>(value));
  box->setGroupSeparatorShown(true);
  return box;
}

} // namespace

SamplingPanel::SamplingPanel(QWidget* parent) : QWidget(parent), m_newSeed(new QCheckBox(tr("another each time"))) {
  const SamplingOptions usual;
  m_temperature = makeNumber(QStringLiteral("temperature"), 0, 100, 0.1, usual.temperature);
  m_temperature->setToolTip(tr("0: always the likeliest token; above 1: more surprising"));
  m_topK = makeCount(QStringLiteral("topK"), 0, mostTokens, usual.topK);
  m_topK->setSpecialValueText(tr("all"));
  m_topK->setToolTip(tr("Only so many of the likeliest tokens"));
  m_topP = makeNumber(QStringLiteral("topP"), 0.001, 1, 0.05, usual.topP);
  m_topP->setToolTip(tr("Only the likeliest tokens that have this probability together; 1: all"));
  m_tokens = makeCount(QStringLiteral("mostTokens"), 1, mostTokens, usual.tokens);
  m_tokens->setToolTip(tr("New tokens, at most"));
  m_seed = makeCount(QStringLiteral("seed"), 0, std::numeric_limits<int>::max(), static_cast<qint64>(usual.seed));
  m_seed->setToolTip(tr("The same seed and settings give the same text"));
  m_newSeed->setObjectName(QStringLiteral("newSeed"));
  m_newSeed->setChecked(true);
  m_newSeed->setToolTip(tr("The next text gets the next seed"));
  m_newSeed->setAccessibleName(tr("Another seed each time"));
  m_stops = new QPlainTextEdit;
  m_stops->setObjectName(QStringLiteral("stopTexts"));
  m_stops->setTabChangesFocus(true);
  m_stops->setPlaceholderText(tr("one a line; \\n is a line's end"));
  m_stops->setToolTip(tr("Texts that end it and are left out, one a line; \\n stands for a line's end"));
  m_stops->setFixedHeight(stopLines * fontMetrics().lineSpacing() + 12);

  auto* form = new QFormLayout(this);
  form->setContentsMargins(0, 0, 0, 0);
  form->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
  form->addRow(tr("&Temperature:"), m_temperature);
  form->addRow(tr("Top-k:"), m_topK);
  form->addRow(tr("Top-p:"), m_topP);
  form->addRow(tr("Tokens at most:"), m_tokens);
  form->addRow(tr("Seed:"), m_seed);
  form->addRow(QString(), m_newSeed);
  form->addRow(tr("&Stop texts:"), m_stops);
}

SamplingOptions SamplingPanel::options() const {
  SamplingOptions options;
  options.temperature = m_temperature->value();
  options.topK = m_topK->value();
  options.topP = m_topP->value();
  options.tokens = m_tokens->value();
  options.seed = static_cast<std::uint64_t>(m_seed->value());
  for (const QString& line : m_stops->toPlainText().split(u'\n', Qt::SkipEmptyParts))
    options.stop.push_back(unescaped(line).toStdString());
  return options;
}

void SamplingPanel::advanceSeed() {
  if (!m_newSeed->isChecked()) return;
  m_seed->setValue(m_seed->value() == m_seed->maximum() ? 0 : m_seed->value() + 1);
}

} // namespace millrace::ui
