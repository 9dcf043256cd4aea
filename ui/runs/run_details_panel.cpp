#include "runs/run_details_panel.h"

#include "runs/notes_edit.h"
#include "runs/run_table_model.h"
#include "style/elided_label.h"
#include "style/flow_layout.h"
#include "style/icons.h"
#include "style/numbers.h"
#include "style/status_colors.h"

#include <QDateTime>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QLocale>
#include <QPushButton>
#include <QVBoxLayout>

namespace millrace::ui {

namespace {

QString figuresOf(const RunEntry& run) {
  QStringList lines;
  if (!run.model.isEmpty()) lines << run.model;
  QStringList training;
  if (run.step > 0)
    training << (run.totalSteps > 0
                     ? RunDetailsPanel::tr("step %1 of %2").arg(countText(run.step), countText(run.totalSteps))
                     : RunDetailsPanel::tr("step %1").arg(countText(run.step)));
  if (run.tokens > 0) training << RunDetailsPanel::tr("%1 tokens").arg(shortCountText(static_cast<double>(run.tokens)));
  if (run.loss) training << RunDetailsPanel::tr("loss %1").arg(numberText(*run.loss));
  if (run.validation)
    training << RunDetailsPanel::tr("lowest validation loss %1 at step %2")
                    .arg(numberText(*run.validation), countText(run.validationStep));
  if (!training.isEmpty()) lines << training.join(QStringLiteral(", "));
  if (run.checkpoints == 0)
    lines << RunDetailsPanel::tr("no checkpoints");
  else if (run.checkpoints == 1)
    lines << RunDetailsPanel::tr("1 checkpoint, %1").arg(bytesText(run.checkpointBytes));
  else
    lines << RunDetailsPanel::tr("%1 checkpoints, %2").arg(countText(run.checkpoints), bytesText(run.checkpointBytes));
  if (run.began > 0)
    lines.last() += RunDetailsPanel::tr("; began %1")
                        .arg(QLocale().toString(QDateTime::fromSecsSinceEpoch(static_cast<qint64>(run.began)),
                                                QLocale::ShortFormat));
  return lines.join(u'\n');
}

QStringList tagsOf(const QString& text) {
  QStringList tags;
  for (const QString& part : text.split(u',')) {
    const QString tag = part.simplified();
    if (!tag.isEmpty() && !tags.contains(tag)) tags << tag;
  }
  return tags;
}

QString textOf(const QStringList& tags) {
  return tags.join(QStringLiteral(", "));
}

} // namespace

RunDetailsPanel::RunDetailsPanel(QWidget* parent)
    : QWidget(parent),
      m_name(new ElidedLabel),
      m_icon(new QLabel),
      m_state(new QLabel),
      m_figures(new QLabel),
      m_folder(new ElidedLabel),
      m_message(new QLabel),
      m_tags(new QLineEdit),
      m_notes(new NotesEdit) {
  QFont bold = font();
  bold.setBold(true);
  m_name->setFont(bold);
  for (QLabel* label : {m_state, m_figures, m_message}) {
    label->setTextFormat(Qt::PlainText);
    label->setWordWrap(true);
  }
  m_state->setObjectName(QStringLiteral("detailsState"));
  m_figures->setObjectName(QStringLiteral("detailsFigures"));
  m_message->setObjectName(QStringLiteral("detailsMessage"));
  m_message->hide();
  m_tags->setObjectName(QStringLiteral("runTags"));
  m_tags->setPlaceholderText(tr("Separated by commas"));
  m_notes->setObjectName(QStringLiteral("runNotes"));
  m_notes->setAccessibleName(tr("Notes"));
  m_notes->setPlaceholderText(tr("What this run was for, what came of it"));
  m_notes->setMinimumHeight(3 * fontMetrics().lineSpacing());

  auto* state = new QHBoxLayout;
  state->addWidget(m_icon, 0, Qt::AlignTop);
  state->addWidget(m_state, 1);
  auto* actions = new FlowLayout;
  using Panel = RunDetailsPanel;
  m_open =
      addButton(actions, tr("&Open"), QStringLiteral("chart"), QStringLiteral("openThisRun"), &Panel::openRequested);
  m_open->setToolTip(tr("Show the run on the Train page"));
  m_resume = addButton(actions, tr("Resu&me"), QStringLiteral("play"), QStringLiteral("resumeThisRun"),
                       &Panel::resumeRequested);
  m_queue = addButton(actions, tr("Resume in the q&ueue"), QStringLiteral("queue"), QStringLiteral("queueThisRun"),
                      &Panel::queueRequested);
  m_branch = addButton(actions, tr("&Branch…"), QStringLiteral("branch"), QStringLiteral("branchThisRun"),
                       &Panel::branchRequested);
  m_branch->setToolTip(tr("A new run that begins from a checkpoint of this one, with other settings"));
  m_export = addButton(actions, tr("E&xport…"), QStringLiteral("export"), QStringLiteral("exportThisRun"),
                       &Panel::exportRequested);
  m_delete = addButton(actions, tr("Delete chec&kpoints…"), QStringLiteral("discard"), QStringLiteral("deleteThisRun"),
                       &Panel::deleteRequested);
  m_pin = addButton(actions, tr("&Pin as baseline"), QStringLiteral("pin"), QStringLiteral("pinThisRun"), nullptr);
  m_showFolder = addButton(actions, tr("Open fo&lder"), QStringLiteral("folder"), QStringLiteral("folderOfThisRun"),
                           &Panel::folderRequested);
  m_forget = addButton(actions, tr("Tak&e off the list"), QStringLiteral("discard"), QStringLiteral("forgetThisRun"),
                       &Panel::forgetRequested);
  connect(m_pin, &QPushButton::clicked, this,
          [this] { Q_EMIT baselineRequested(m_isBaseline ? QString() : m_run.path); });

  auto* words = new QFormLayout;
  words->addRow(tr("T&ags"), m_tags);
  // A letter of its own would collide with the buttons': Tab comes here from the tags.
  words->addRow(tr("Notes"), m_notes);
  auto* layout = new QVBoxLayout(this);
  layout->addWidget(m_name);
  layout->addLayout(state);
  layout->addWidget(m_figures);
  layout->addWidget(m_folder);
  layout->addWidget(m_message);
  layout->addLayout(actions);
  layout->addLayout(words, 1);

  connect(m_tags, &QLineEdit::editingFinished, this, &RunDetailsPanel::handOver);
  connect(m_notes, &NotesEdit::editingFinished, this, &RunDetailsPanel::handOver);
}

QPushButton* RunDetailsPanel::addButton(QLayout* layout, const QString& text, const QString& iconName,
                                        const QString& name, void (RunDetailsPanel::*asked)(const QString&)) {
  auto* button = new QPushButton(icon(iconName), text);
  button->setObjectName(name);
  button->setAutoDefault(false);
  layout->addWidget(button);
  if (asked) connect(button, &QPushButton::clicked, this, [this, asked] { Q_EMIT(this->*asked)(m_run.path); });
  return button;
}

void RunDetailsPanel::handOver() {
  if (m_run.path.isEmpty()) return;
  const QStringList tags = tagsOf(m_tags->text());
  const QString notes = m_notes->toPlainText();
  if (tags == m_run.tags && notes == m_run.notes) return;
  m_run.tags = tags;
  m_run.notes = notes;
  Q_EMIT notesChanged(m_run.path, tags, notes);
}

void RunDetailsPanel::show(const RunEntry& run, bool isBaseline) {
  const bool other = run.path != m_run.path;
  if (other) handOver();
  if (other) showMessage({});
  const bool typesTags = !other && tagsOf(m_tags->text()) != m_run.tags;
  const bool typesNotes = !other && m_notes->toPlainText() != m_run.notes;
  m_run = run;
  m_isBaseline = isBaseline;
  if (!typesTags && tagsOf(m_tags->text()) != run.tags) m_tags->setText(textOf(run.tags));
  if (!typesNotes && m_notes->toPlainText() != run.notes) m_notes->setPlainText(run.notes);
  m_name->setText(run.name);
  m_folder->setText(run.path);
  m_icon->setPixmap(statusPixmap(statusOf(run), palette(), fontMetrics().height(), devicePixelRatioF()));
  QString state = outcomeText(run);
  if (!run.present) state = tr("Gone: its folder is no longer there. What is known of it stays.");
  if (run.present && !run.isLive() && !run.reason.isEmpty()) state = tr("%1: %2").arg(state, run.reason);
  if (run.isLive() && !run.owner.isEmpty()) state = tr("%1: %2").arg(state, run.owner);
  m_state->setText(state);
  m_figures->setText(figuresOf(run));
  m_resume->setVisible(run.canBeResumed());
  // Nobody should find out from the charts that the steps so far are not gone on from.
  m_resume->setText(run.checkpoints > 0 ? tr("Resu&me") : tr("Resu&me at its beginning"));
  m_resume->setToolTip(run.checkpoints > 0 ? QString()
                                           : tr("It has no checkpoint to go on from. The metrics so far are kept in a "
                                                "file beside the new ones."));
  m_queue->setVisible(run.canBeResumed());
  m_open->setEnabled(run.present);
  m_showFolder->setEnabled(run.present);
  m_branch->setEnabled(run.present && run.checkpoints > 0);
  m_export->setEnabled(run.present && run.checkpoints > 0);
  m_delete->setEnabled(run.present && !run.isLive() && run.checkpoints > 0);
  m_delete->setToolTip(run.isLive() ? tr("A run at work needs its checkpoints") : QString());
  m_forget->setVisible(!run.present);
  m_pin->setText(isBaseline ? tr("Un&pin the baseline") : tr("&Pin as baseline"));
}

void RunDetailsPanel::showMessage(const QString& message) {
  m_message->setText(message);
  m_message->setVisible(!message.isEmpty());
}

} // namespace millrace::ui
