#include "runs/run_filter_bar.h"

#include "runs/run_filter.h"
#include "style/flow_layout.h"
#include "style/numbers.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QShortcut>

namespace millrace::ui {

RunFilterBar::RunFilterBar(RunFilter& filter, QWidget* parent)
    : QWidget(parent),
      m_filter(filter),
      m_text(new QLineEdit),
      m_state(new QComboBox),
      m_tag(new QComboBox),
      m_count(new QLabel),
      m_listAll(new QPushButton(tr("L&ist all"))) {
  m_text->setObjectName(QStringLiteral("runFilter"));
  m_text->setPlaceholderText(tr("Words of names, tags, notes, models"));
  m_text->setClearButtonEnabled(true);
  m_text->setMinimumWidth(34 * fontMetrics().averageCharWidth());
  m_state->setObjectName(QStringLiteral("stateFilter"));
  for (const auto& [text, shown] :
       {std::pair{tr("All"), RunsShown::All}, std::pair{tr("At work"), RunsShown::Live},
        std::pair{tr("Finished"), RunsShown::Finished}, std::pair{tr("Interrupted"), RunsShown::Interrupted},
        std::pair{tr("Failed"), RunsShown::Failed}, std::pair{tr("Gone"), RunsShown::Gone}})
    m_state->addItem(text, static_cast<int>(shown));
  m_tag->setObjectName(QStringLiteral("tagFilter"));
  m_tag->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  m_tag->setMinimumContentsLength(10);
  m_tag->addItem(tr("Any"));
  m_count->setObjectName(QStringLiteral("runCount"));

  auto* layout = new FlowLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  const auto add = [&](const QString& text, QWidget* field) {
    auto* group = new QWidget;
    auto* line = new QHBoxLayout(group);
    line->setContentsMargins(0, 0, 12, 0);
    auto* label = new QLabel(text);
    label->setBuddy(field);
    line->addWidget(label);
    line->addWidget(field);
    layout->addWidget(group);
  };
  add(tr("Fi&nd:"), m_text);
  add(tr("&State:"), m_state);
  add(tr("&Tag:"), m_tag);
  m_listAll->setObjectName(QStringLiteral("listAll"));
  m_listAll->setAutoDefault(false);
  layout->addWidget(m_count);
  layout->addWidget(m_listAll);
  updateListAll();

  connect(m_text, &QLineEdit::textChanged, this, [this](const QString& text) {
    m_filter.setText(text);
    updateListAll();
  });
  connect(m_state, &QComboBox::currentIndexChanged, this, [this] {
    m_filter.setShown(static_cast<RunsShown>(m_state->currentData().toInt()));
    updateListAll();
  });
  connect(m_tag, &QComboBox::currentIndexChanged, this, [this](int index) {
    m_filter.setTag(index > 0 ? m_tag->itemText(index) : QString());
    updateListAll();
  });
  connect(m_listAll, &QPushButton::clicked, this, &RunFilterBar::listAll);
  auto* find = new QShortcut(QKeySequence::Find, this);
  connect(find, &QShortcut::activated, m_text, [this] {
    m_text->setFocus(Qt::ShortcutFocusReason);
    m_text->selectAll();
  });
}

void RunFilterBar::setTags(const QStringList& tags) {
  QStringList now;
  for (int i = 1; i < m_tag->count(); ++i) now << m_tag->itemText(i);
  if (now == tags) return;
  const QString chosen = m_tag->currentIndex() > 0 ? m_tag->currentText() : QString();
  {
    const QSignalBlocker quiet(m_tag);
    while (m_tag->count() > 1) m_tag->removeItem(1);
    m_tag->addItems(tags);
    m_tag->setCurrentIndex(static_cast<int>(tags.indexOf(chosen)) + 1);
  }
  if (!tags.contains(chosen)) m_filter.setTag({});
  updateListAll();
}

void RunFilterBar::setCounts(int shown, int all) {
  const QString total = all == 1 ? tr("1 run") : tr("%1 runs").arg(countText(all));
  m_count->setText(shown == all ? total : tr("%1 of %2").arg(countText(shown), total));
}

void RunFilterBar::listAll() {
  m_text->setFocus(); // the button has nothing left to do
  m_text->clear();
  m_state->setCurrentIndex(0);
  m_tag->setCurrentIndex(0);
}

void RunFilterBar::updateListAll() {
  m_listAll->setEnabled(m_filter.isFiltering());
}

} // namespace millrace::ui
