#include "hardware/measure_panel.h"

#include "bridge/text.h"
#include "hardware/machine_text.h"
#include "style/flow_layout.h"
#include "style/icons.h"
#include "style/numbers.h"
#include "style/status_line.h"

#include <QComboBox>
#include <QDir>
#include <QFileDialog>
#include <QHBoxLayout>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QVBoxLayout>

namespace millrace::ui {

namespace {

constexpr int characters = 24; ///< that a choice shows at least

QComboBox* makeChoice(const QString& name) {
  auto* box = new QComboBox;
  box->setObjectName(name);
  box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  box->setMinimumContentsLength(characters);
  return box;
}

QWidget* labelled(const QString& text, QComboBox* box) {
  auto* pair = new QWidget;
  auto* layout = new QHBoxLayout(pair);
  layout->setContentsMargins(0, 0, 0, 0);
  auto* label = new QLabel(text);
  label->setBuddy(box);
  layout->addWidget(label);
  layout->addWidget(box, 1);
  return pair;
}

} // namespace

MeasurePanel::MeasurePanel(QWidget* parent)
    : QWidget(parent),
      m_device(makeChoice(QStringLiteral("measureDevice"))),
      m_disk(makeChoice(QStringLiteral("measureDisk"))),
      m_folder(new QPushButton(icon(QStringLiteral("folder")), tr("Other f&older…"))),
      m_begin(new QPushButton(icon(QStringLiteral("play")), tr("&Measure this machine"))),
      m_cancel(new QPushButton(icon(QStringLiteral("stop")), tr("&Cancel"))),
      m_progress(new QProgressBar),
      m_message(new StatusLine),
      m_live(new StatusLine) {
  m_device->setToolTip(tr("What computes while the rates are measured"));
  m_disk->setToolTip(tr("The disk to measure: 2 GiB at most are written there, and removed again"));
  m_folder->setObjectName(QStringLiteral("measureFolder"));
  m_folder->setToolTip(tr("A folder on another disk"));
  m_begin->setObjectName(QStringLiteral("measureBegin"));
  m_begin->setToolTip(tr("Copies, memory, AdamW, matrix products and a disk, in about half a minute; plans are "
                         "predicted from what comes out"));
  m_cancel->setObjectName(QStringLiteral("measureCancel"));
  m_progress->setObjectName(QStringLiteral("measureProgress"));
  m_progress->setAccessibleName(tr("Progress of measuring"));
  m_progress->setFormat(tr("%v of %m"));
  m_message->setObjectName(QStringLiteral("measureMessage"));
  m_live->setObjectName(QStringLiteral("measureLiveRuns"));

  auto* choices = new FlowLayout;
  choices->addWidget(labelled(tr("&Device:"), m_device));
  choices->addWidget(labelled(tr("Dis&k:"), m_disk));
  choices->addWidget(m_folder);
  choices->addWidget(m_begin);
  choices->addWidget(m_cancel);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addLayout(choices);
  layout->addWidget(m_progress);
  layout->addWidget(m_message);
  layout->addWidget(m_live);

  connect(m_begin, &QPushButton::clicked, this, &MeasurePanel::begin);
  connect(m_cancel, &QPushButton::clicked, this, &MeasurePanel::cancel);
  connect(m_folder, &QPushButton::clicked, this, &MeasurePanel::chooseFolder);
  connect(m_device, &QComboBox::currentIndexChanged, this, [this] {
    m_told = m_told && m_probe.isRunning();
    showNotice();
  });
  connect(&m_probe, &MachineProbe::progressed, this, &MeasurePanel::showProgress);
  connect(&m_probe, &MachineProbe::finished, this, &MeasurePanel::showDone);
  connect(&m_probe, &MachineProbe::failed, this, [this](const QString& problem, bool cancelled) {
    m_told = true;
    m_message->tell(cancelled ? tr("Measuring was given up; the figures of before stand.") : problem,
                    cancelled ? StatusKind::Unknown : StatusKind::Bad);
    updateButtons();
  });
  updateButtons();
}

void MeasurePanel::setLook(const MachineLook& look) {
  m_look = look;
  const QVariant device = m_device->currentData(), disk = m_disk->currentData();
  const QString diskText = m_disk->currentText();
  const QSignalBlocker quiet(m_device);
  m_device->clear();
  for (const ComputeDevice& each : look.devices) {
    const bool cpu = each.setting == "cpu";
    m_device->addItem(cpu ? tr("CPU: %1").arg(toQt(each.name)) : tr("%1 (%2)").arg(toQt(each.name), toQt(each.setting)),
                      toQt(each.setting));
  }
  // A GPU is what trains where there is one.
  const int chosen = device.isValid() ? m_device->findData(device) : m_device->count() > 1 ? 1 : 0;
  m_device->setCurrentIndex(std::max(chosen, 0));
  m_disk->clear();
  for (const DiskFacts& each : look.profile.disks)
    m_disk->addItem(tr("%1 (%2)").arg(toQt(each.folder), diskKindText(each)), toQt(each.folder));
  m_disk->addItem(tr("No disk"), QString());
  if (disk.isValid()) {
    if (m_disk->findData(disk) < 0) m_disk->insertItem(0, diskText, disk); // that somebody named
    m_disk->setCurrentIndex(m_disk->findData(disk));
  }
  showNotice();
  updateButtons();
}

void MeasurePanel::setLiveRuns(const std::vector<LiveRun>& runs) {
  QStringList names;
  for (const LiveRun& run : runs) names << run.name;
  if (names.isEmpty()) return m_live->tell({});
  m_live->tell(tr("Training now: %1. What is measured beside it comes out too low, and the run is slowed down.")
                   .arg(names.join(QStringLiteral(", "))),
               StatusKind::Warning);
}

void MeasurePanel::begin() {
  m_told = true;
  m_cancelling = false;
  m_progress->setRange(0, 0);
  m_probe.start(m_device->currentData().toString().toStdString(), toPath(m_disk->currentData().toString()));
  m_message->tell(tr("Measuring begins…"), StatusKind::Unknown);
  updateButtons();
}

void MeasurePanel::cancel() {
  m_cancelling = true;
  m_probe.cancel();
  m_message->tell(tr("Giving up, when what is being measured is done…"), StatusKind::Unknown);
  updateButtons();
}

void MeasurePanel::chooseFolder() {
  auto* dialog = new QFileDialog(this, tr("A folder on the disk to measure"), QDir::homePath());
  dialog->setFileMode(QFileDialog::Directory);
  dialog->setOption(QFileDialog::ShowDirsOnly);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  connect(dialog, &QFileDialog::fileSelected, this, [this](const QString& folder) {
    if (m_disk->findData(folder) < 0) m_disk->insertItem(0, folder, folder);
    m_disk->setCurrentIndex(m_disk->findData(folder));
  });
  dialog->open();
}

void MeasurePanel::showProgress(const QString& part, int done, int parts) {
  if (m_cancelling) return;
  m_progress->setRange(0, parts);
  m_progress->setValue(done);
  m_message->tell(tr("Measuring %1 (%2 of %3)…").arg(part).arg(done + 1).arg(parts), StatusKind::Unknown);
}

void MeasurePanel::showDone(const ProbeReport& report, const QString& notice) {
  m_told = true;
  QStringList lines;
  lines << tr("Measured on %1 in %2; plans are predicted from it.")
               .arg(toQt(report.machine.device), durationText(report.seconds));
  for (const std::string& note : report.notes) lines << toQt(note);
  if (!notice.isEmpty()) lines << notice;
  m_message->tell(lines.join(u'\n'), lines.size() == 1 ? StatusKind::Good : StatusKind::Warning);
  updateButtons();
  Q_EMIT measured();
}

void MeasurePanel::showNotice() {
  if (m_told || m_probe.isRunning()) return; // what came of the last measurement is what is of interest
  const auto index = static_cast<std::size_t>(std::max(m_device->currentIndex(), 0));
  if (index >= m_look.ratesNotices.size()) return m_message->tell({}, StatusKind::Unknown);
  QString text = toQt(m_look.ratesNotices[index]);
  if (text.isEmpty()) return m_message->tell(tr("The rates of this device were measured here."), StatusKind::Good);
  text = tr("Plans are predicted from assumed figures: %1.").arg(text.section(QStringLiteral("; measure with"), 0, 0));
  QStringList others;
  for (const MachineKey& other : m_look.others) {
    const QString name = tr("%1 (%2)").arg(toQt(other.host), toQt(other.device));
    if (!others.contains(name)) others << name;
  }
  if (!others.isEmpty())
    text += u' ' + tr("Figures of other machines are kept as well, and do not hold here: %1.")
                       .arg(others.join(QStringLiteral(", ")));
  m_message->tell(text, StatusKind::Warning);
}

void MeasurePanel::updateButtons() {
  const bool works = m_probe.isRunning();
  for (QWidget* widget : std::initializer_list<QWidget*>{m_device, m_disk, m_folder}) widget->setEnabled(!works);
  m_begin->setEnabled(m_device->count() > 0);
  // One takes the place of the other, and the focus.
  QPushButton* const shown = works ? m_cancel : m_begin;
  QPushButton* const gone = works ? m_begin : m_cancel;
  shown->show();
  if (gone->hasFocus()) shown->setFocus();
  gone->hide();
  m_progress->setVisible(works);
}

} // namespace millrace::ui
