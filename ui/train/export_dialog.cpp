#include "train/export_dialog.h"

#include "bridge/background.h"
#include "bridge/text.h"
#include "engine/runs.h"
#include "style/numbers.h"
#include "style/status_colors.h"

#include <QComboBox>
#include <QDesktopServices>
#include <QDialogButtonBox>
#include <QDir>
#include <QDoubleSpinBox>
#include <QFileDialog>
#include <QFileInfo>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QUrl>
#include <QVBoxLayout>

namespace millrace::ui {

namespace {

constexpr double gigabyte = 1e9;
/// Choices of the checkpoint that are not a step's.
constexpr qlonglong newest = -1, best = -2;

} // namespace

ExportDialog::ExportDialog(const QString& run, const QString& name, QWidget* parent)
    : QDialog(parent),
      m_run(run),
      m_checkpoint(new QComboBox),
      m_type(new QComboBox),
      m_shard(new QDoubleSpinBox),
      m_folder(new QLineEdit),
      m_browse(new QPushButton(tr("&Browse…"))),
      m_progress(new QProgressBar),
      m_message(new QLabel) {
  setObjectName(QStringLiteral("exportDialog"));
  setWindowTitle(tr("Export the model of %1").arg(name));
  setAttribute(Qt::WA_DeleteOnClose);

  m_checkpoint->setObjectName(QStringLiteral("exportCheckpoint"));
  m_checkpoint->addItem(tr("Newest"), newest);
  m_checkpoint->addItem(tr("Lowest validation loss"), best);
  m_type->setObjectName(QStringLiteral("exportType"));
  m_type->addItem(tr("bf16, what bf16 training computes with"), static_cast<int>(ExportType::Bf16));
  m_type->addItem(tr("fp32, the weights in full"), static_cast<int>(ExportType::Fp32));
  m_type->addItem(tr("fp16"), static_cast<int>(ExportType::Fp16));
  m_shard->setObjectName(QStringLiteral("exportShard"));
  m_shard->setRange(0.1, 1000);
  m_shard->setDecimals(1);
  m_shard->setValue(static_cast<double>(ExportOptions().maxShardBytes) / gigabyte);
  m_shard->setSuffix(tr(" GB"));
  m_folder->setObjectName(QStringLiteral("exportFolder"));
  m_folder->setText(QDir::toNativeSeparators(QDir(m_run).filePath(QStringLiteral("model"))));
  m_folder->setPlaceholderText(tr("A folder that is not there yet, or is empty"));
  m_progress->setObjectName(QStringLiteral("exportProgress"));
  m_progress->setAccessibleName(tr("Progress of the export"));
  m_progress->setRange(0, 1000);
  m_progress->setValue(0);
  m_message->setObjectName(QStringLiteral("exportMessage"));
  m_message->setWordWrap(true);
  m_message->setTextFormat(Qt::PlainText);
  m_message->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);

  auto* place = new QHBoxLayout;
  place->addWidget(m_folder, 1);
  place->addWidget(m_browse);
  auto* form = new QFormLayout;
  form->addRow(tr("Chec&kpoint"), m_checkpoint);
  form->addRow(tr("&Numbers"), m_type);
  form->addRow(tr("Files of at &most"), m_shard);
  form->addRow(tr("&Folder"), place);
  static_cast<QLabel*>(form->labelForField(place))->setBuddy(m_folder);
  auto* buttons = new QDialogButtonBox;
  m_begin = buttons->addButton(tr("&Export"), QDialogButtonBox::ActionRole);
  m_begin->setObjectName(QStringLiteral("exportBegin"));
  m_begin->setDefault(true);
  m_show = buttons->addButton(tr("&Open folder"), QDialogButtonBox::ActionRole);
  m_show->setObjectName(QStringLiteral("exportShow"));
  m_close = buttons->addButton(QDialogButtonBox::Close);
  m_close->setObjectName(QStringLiteral("exportClose"));
  auto* layout = new QVBoxLayout(this);
  layout->addLayout(form);
  layout->addWidget(m_progress);
  layout->addWidget(m_message);
  layout->addStretch(1);
  layout->addWidget(buttons);
  resize(std::max(sizeHint().width(), 40 * fontMetrics().averageCharWidth() * 2), sizeHint().height());

  connect(m_browse, &QPushButton::clicked, this, &ExportDialog::chooseFolder);
  connect(m_begin, &QPushButton::clicked, this, &ExportDialog::begin);
  connect(m_close, &QPushButton::clicked, this, &ExportDialog::reject);
  connect(m_show, &QPushButton::clicked, this, [this] { QDesktopServices::openUrl(QUrl::fromLocalFile(m_written)); });
  connect(m_folder, &QLineEdit::textChanged, this, &ExportDialog::updateButtons);
  connect(&m_export, &ModelExport::progressed, this,
          [this](double share) { m_progress->setValue(static_cast<int>(1000 * share)); });
  connect(&m_export, &ModelExport::finished, this, &ExportDialog::showDone);
  connect(&m_export, &ModelExport::failed, this, [this](const QString& message, bool cancelled) {
    showProblem(cancelled ? tr("The export was given up; nothing is left of it.") : message);
  });
  m_folder->setFocus();
  readRun();
  updateButtons();
}

void ExportDialog::readRun() {
  const auto work = [run = toPath(m_run)] {
    LocalFileSystem files;
    return runInfo(files, run);
  };
  inBackground(this, work, [this](const Result<RunInfo>& run) {
    if (!run) return showProblem(toQt(run.error().message));
    for (auto step = run->checkpointSteps.rbegin(); step != run->checkpointSteps.rend(); ++step)
      m_checkpoint->addItem(tr("Step %1").arg(countText(*step)), static_cast<qlonglong>(*step));
    if (run->checkpointSteps.empty()) showProblem(tr("The run has no checkpoint yet: make one first."));
  });
}

void ExportDialog::chooseFolder() {
  auto* dialog = new QFileDialog(this, tr("A folder for the model"), QFileInfo(m_folder->text()).path());
  dialog->setFileMode(QFileDialog::Directory);
  dialog->setOption(QFileDialog::ShowDirsOnly);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  connect(dialog, &QFileDialog::fileSelected, m_folder, &QLineEdit::setText);
  dialog->open();
}

void ExportDialog::begin() {
  ModelChoice choice;
  choice.path = toPath(m_run);
  const qlonglong checkpoint = m_checkpoint->currentData().toLongLong();
  if (checkpoint == best) choice.checkpoint = CheckpointChoice::Best;
  if (checkpoint >= 0) choice.step = checkpoint;
  m_progress->setValue(0);
  m_message->clear();
  m_written.clear();
  m_export.start(choice, toPath(QDir::fromNativeSeparators(m_folder->text())),
                 static_cast<ExportType>(m_type->currentData().toInt()),
                 static_cast<Bytes>(m_shard->value() * gigabyte));
  updateButtons();
}

void ExportDialog::showDone(const ExportedModel& model) {
  m_written = toQt(model.folder);
  m_progress->setValue(m_progress->maximum());
  QStringList lines;
  const QString what = tr("%1 parameters in %2 files, %3")
                           .arg(shortCountText(static_cast<double>(model.parameters)),
                                countText(static_cast<std::int64_t>(model.files.size())), bytesText(model.bytes));
  lines << (model.step ? tr("Step %1 is exported: %2.").arg(countText(*model.step), what)
                       : tr("Exported: %1.").arg(what));
  for (const std::string& warning : model.warnings) lines << toQt(warning);
  QPalette colors = palette();
  colors.setColor(QPalette::WindowText,
                  statusColor(model.warnings.empty() ? StatusKind::Good : StatusKind::Warning, palette()));
  m_message->setPalette(colors);
  m_message->setText(lines.join(u'\n'));
  updateButtons();
  m_show->setFocus();
}

void ExportDialog::showProblem(const QString& message) {
  QPalette colors = palette();
  colors.setColor(QPalette::WindowText, statusColor(StatusKind::Bad, palette()));
  m_message->setPalette(colors);
  m_message->setText(message);
  updateButtons();
}

void ExportDialog::updateButtons() {
  const bool works = m_export.isRunning();
  for (QWidget* widget : std::initializer_list<QWidget*>{m_checkpoint, m_type, m_shard, m_folder, m_browse})
    widget->setEnabled(!works);
  m_begin->setEnabled(!works && !m_folder->text().trimmed().isEmpty());
  m_show->setEnabled(!m_written.isEmpty());
  m_close->setText(works ? tr("&Give up") : tr("&Close"));
  m_progress->setVisible(works || !m_written.isEmpty());
}

void ExportDialog::reject() {
  if (m_export.isRunning())
    m_export.cancel();
  else
    QDialog::reject();
}

} // namespace millrace::ui
