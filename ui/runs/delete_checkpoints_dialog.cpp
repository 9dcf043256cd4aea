#include "runs/delete_checkpoints_dialog.h"

#include "bridge/background.h"
#include "bridge/text.h"
#include "style/numbers.h"

#include <QCheckBox>
#include <QDialogButtonBox>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>
#include <algorithm>

namespace millrace::ui {

DeleteCheckpointsDialog::DeleteCheckpointsDialog(const QString& run, const QString& name, bool finished,
                                                 QWidget* parent)
    : QDialog(parent),
      m_run(run),
      m_finished(finished),
      m_text(new QLabel),
      m_warning(new QLabel),
      m_keepNewest(new QCheckBox(tr("Keep the &newest"))),
      m_keepBest(new QCheckBox(tr("Keep the one with the lowest &validation loss"))) {
  setObjectName(QStringLiteral("deleteDialog"));
  setWindowTitle(tr("Delete checkpoints of %1").arg(name));
  setAttribute(Qt::WA_DeleteOnClose);
  m_keepNewest->setObjectName(QStringLiteral("keepNewest"));
  m_keepBest->setObjectName(QStringLiteral("keepBest"));
  m_text->setObjectName(QStringLiteral("bytesToFree"));
  for (QLabel* label : {m_text, m_warning}) {
    label->setWordWrap(true);
    label->setTextFormat(Qt::PlainText);
    label->setMinimumHeight(3 * fontMetrics().lineSpacing()); // what it will say wraps, and comes later
    label->setAlignment(Qt::AlignLeft | Qt::AlignTop);
  }
  m_text->setText(tr("Looking at the checkpoints…"));
  auto* buttons = new QDialogButtonBox;
  m_delete = buttons->addButton(tr("&Delete"), QDialogButtonBox::AcceptRole);
  m_delete->setObjectName(QStringLiteral("confirmDelete"));
  auto* cancel = buttons->addButton(tr("&Cancel"), QDialogButtonBox::RejectRole);
  m_delete->setAutoDefault(false);
  cancel->setDefault(true);
  m_delete->setEnabled(false);
  auto* layout = new QVBoxLayout(this);
  layout->addWidget(m_text);
  layout->addWidget(m_keepNewest);
  layout->addWidget(m_keepBest);
  layout->addWidget(m_warning);
  layout->addStretch(1);
  layout->addWidget(buttons);
  setMinimumWidth(70 * fontMetrics().averageCharWidth());

  connect(m_keepNewest, &QCheckBox::toggled, this, &DeleteCheckpointsDialog::updateText);
  connect(m_keepBest, &QCheckBox::toggled, this, &DeleteCheckpointsDialog::updateText);
  connect(cancel, &QPushButton::clicked, this, &QDialog::reject);
  connect(m_delete, &QPushButton::clicked, this, [this] {
    Q_EMIT confirmed(kept());
    accept();
  });
  look();
}

void DeleteCheckpointsDialog::look() {
  const auto work = [run = toPath(m_run)] {
    LocalFileSystem files;
    return runDetails(files, run);
  };
  inBackground(this, work, [this](const Result<RunDetails>& details) {
    if (!details) {
      m_text->setText(toQt(details.error().message));
      return;
    }
    m_checkpoints = details->checkpoints;
    m_best = details->bestCheckpoint;
    m_keepBest->setEnabled(m_best >= 0);
    if (m_best >= 0)
      m_keepBest->setText(tr("Keep the one with the lowest &validation loss (step %1)").arg(countText(m_best)));
    if (!m_checkpoints.empty())
      m_keepNewest->setText(tr("Keep the &newest (step %1)").arg(countText(m_checkpoints.back().step)));
    updateText();
  });
}

KeptCheckpoints DeleteCheckpointsDialog::kept() const {
  return {.newest = m_keepNewest->isChecked(), .best = m_keepBest->isChecked()};
}

void DeleteCheckpointsDialog::updateText() {
  const KeptCheckpoints keep = kept();
  Bytes freed = 0;
  std::int64_t going = 0;
  for (const CheckpointSize& each : m_checkpoints) {
    if ((keep.newest && each.step == m_checkpoints.back().step) || (keep.best && each.step == m_best)) continue;
    freed += each.bytes;
    ++going;
  }
  m_delete->setEnabled(going > 0);
  m_text->setText(going == 0 ? tr("Nothing is deleted.")
                             : tr("%1 of %2 checkpoints are deleted, which frees %3. Metrics, samples and notes stay.")
                                   .arg(countText(going), countText(static_cast<std::int64_t>(m_checkpoints.size())),
                                        bytesText(freed)));
  const bool none = going == static_cast<std::int64_t>(m_checkpoints.size()) && going > 0;
  m_warning->setText(
      !none ? QString()
      : m_finished
          ? tr("The trained model goes with them, unless you have exported it.")
          : tr("Without a checkpoint the run can only begin anew, and be neither branched from nor exported."));
}

} // namespace millrace::ui
