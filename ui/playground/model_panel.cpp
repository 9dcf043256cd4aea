#include "playground/model_panel.h"

#include "bridge/background.h"
#include "bridge/text.h"
#include "engine/runs.h"
#include "playground/generation_text.h"
#include "style/flow_layout.h"
#include "style/icons.h"
#include "style/numbers.h"
#include "style/status_line.h"

#include <QComboBox>
#include <QDir>
#include <QFileDialog>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QSpinBox>
#include <QTimer>
#include <QVBoxLayout>
#include <algorithm>
#include <chrono>

namespace millrace::ui {

namespace {

/// Choices of the checkpoint that are not a step's.
constexpr qlonglong newest = -1, best = -2;
constexpr int usualContext = 2048, mostContext = 16'777'216;
constexpr std::chrono::milliseconds typingPause{400};
constexpr int progressParts = 1000;

QComboBox* makeChoice(const QString& name) {
  auto* box = new QComboBox;
  box->setObjectName(name);
  box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  box->setMinimumContentsLength(12);
  return box;
}

} // namespace

ModelPanel::ModelPanel(TextModel& model, QWidget* parent)
    : QWidget(parent),
      m_model(model),
      m_place(makeChoice(QStringLiteral("modelPlace"))),
      m_browse(new QPushButton(tr("&Browse…"))),
      m_checkpoint(makeChoice(QStringLiteral("modelCheckpoint"))),
      m_device(makeChoice(QStringLiteral("modelDevice"))),
      m_precision(makeChoice(QStringLiteral("modelPrecision"))),
      m_context(new QSpinBox),
      m_load(new QPushButton(icon(QStringLiteral("play")), tr("&Load"))),
      m_stop(new QPushButton(icon(QStringLiteral("stop")), tr("Give &up"))),
      m_unload(new QPushButton(icon(QStringLiteral("discard")), tr("&Unload"))),
      m_progress(new QProgressBar),
      m_message(new StatusLine),
      m_live(new StatusLine),
      m_typed(new QTimer(this)) {
  m_place->setEditable(true);
  m_place->setInsertPolicy(QComboBox::NoInsert);
  m_place->lineEdit()->setPlaceholderText(tr("a run, a checkpoint or a model folder"));
  m_place->setToolTip(tr("The folder of a run, a checkpoint, or a Hugging Face model folder"));
  m_browse->setObjectName(QStringLiteral("modelBrowse"));
  m_checkpoint->addItem(tr("Newest"), newest);
  m_checkpoint->addItem(tr("Lowest validation loss"), best);
  m_checkpoint->setToolTip(tr("Of a run"));
  m_precision->addItem(QStringLiteral("fp32"), static_cast<int>(Precision::Fp32));
  m_precision->addItem(QStringLiteral("bf16"), static_cast<int>(Precision::Bf16));
  m_precision->setToolTip(tr("What is computed in; bf16 takes half the memory"));
  m_context->setObjectName(QStringLiteral("modelContext"));
  m_context->setRange(1, mostContext);
  m_context->setValue(usualContext);
  m_context->setSingleStep(256);
  m_context->setGroupSeparatorShown(true);
  m_context->setToolTip(tr("Tokens of prompt and answers together, at most what the model was made for; memory for "
                           "them is taken at once"));
  m_load->setObjectName(QStringLiteral("modelLoad"));
  m_stop->setObjectName(QStringLiteral("modelStop"));
  m_unload->setObjectName(QStringLiteral("modelUnload"));
  m_unload->setToolTip(tr("Free the memory that the model takes"));
  m_progress->setObjectName(QStringLiteral("modelProgress"));
  m_progress->setAccessibleName(tr("Progress of loading"));
  m_message->setObjectName(QStringLiteral("modelMessage"));
  m_live->setObjectName(QStringLiteral("modelLiveRuns"));
  m_typed->setSingleShot(true);
  m_typed->setInterval(typingPause);

  auto* place = new QHBoxLayout;
  place->addWidget(m_place, 1);
  place->addWidget(m_browse);
  auto* form = new QFormLayout;
  form->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
  form->addRow(tr("&Model:"), place);
  static_cast<QLabel*>(form->labelForField(place))->setBuddy(m_place);
  form->addRow(tr("Chec&kpoint:"), m_checkpoint);
  form->addRow(tr("&Device:"), m_device);
  form->addRow(tr("&Numbers:"), m_precision);
  form->addRow(tr("Conte&xt:"), m_context);
  auto* buttons = new FlowLayout;
  buttons->addWidget(m_load);
  buttons->addWidget(m_stop);
  buttons->addWidget(m_unload);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addLayout(form);
  layout->addWidget(m_live);
  layout->addLayout(buttons);
  layout->addWidget(m_progress);
  layout->addWidget(m_message);

  connect(m_place, &QComboBox::editTextChanged, m_typed, qOverload<>(&QTimer::start));
  connect(m_place, &QComboBox::editTextChanged, this, &ModelPanel::showState);
  connect(m_typed, &QTimer::timeout, this, &ModelPanel::lookAtPlace);
  connect(m_place->lineEdit(), &QLineEdit::returnPressed, m_load, &QPushButton::click);
  connect(m_browse, &QPushButton::clicked, this, &ModelPanel::browse);
  connect(m_device, &QComboBox::currentIndexChanged, this, &ModelPanel::showLiveRuns);
  connect(m_load, &QPushButton::clicked, this, &ModelPanel::load);
  connect(m_stop, &QPushButton::clicked, &m_model, &TextModel::stop);
  connect(m_unload, &QPushButton::clicked, &m_model, &TextModel::unload);
  connect(&m_model, &TextModel::stateChanged, this, &ModelPanel::showModel);
  connect(&m_model, &TextModel::loadProgressed, this, [this](qint64 done, qint64 total) {
    m_progress->setRange(0, progressParts);
    m_progress->setValue(static_cast<int>(progressParts * static_cast<double>(done) / static_cast<double>(total)));
    if (!m_model.isStopping())
      m_message->tell(tr("Loading: %1 of %2 parameters…")
                          .arg(shortCountText(static_cast<double>(done)), shortCountText(static_cast<double>(total))),
                      StatusKind::Unknown);
  });
  connect(&m_model, &TextModel::loadFailed, this, [this](const QString& problem, bool stopped) {
    m_message->tell(stopped ? tr("Loading was given up.") : problem, stopped ? StatusKind::Unknown : StatusKind::Bad);
  });
  setDevices({});
  showModel();
}

void ModelPanel::setPlaces(const QStringList& places) {
  const QString typed = m_place->currentText();
  const QSignalBlocker quiet(m_place);
  m_place->clear();
  m_place->addItems(places);
  for (int i = 0; i < places.size(); ++i) m_place->setItemData(i, places[i], Qt::ToolTipRole);
  m_place->setEditText(typed);
  if (typed.isEmpty() && !places.isEmpty()) choose(places.front());
}

void ModelPanel::choose(const QString& place) {
  m_place->setEditText(place);
  showState();
  lookAtPlace();
}

void ModelPanel::setDevices(const std::vector<ComputeDevice>& devices) {
  const QVariant chosen = m_device->currentData();
  const QSignalBlocker quiet(m_device);
  m_device->clear();
  m_device->addItem(tr("Automatic"), QStringLiteral("auto"));
  for (const ComputeDevice& device : devices)
    m_device->addItem(device.setting == "cpu" ? tr("CPU") : tr("%1 (%2)").arg(toQt(device.name), toQt(device.setting)),
                      toQt(device.setting));
  m_device->setCurrentIndex(std::max(0, m_device->findData(chosen)));
  showLiveRuns();
}

void ModelPanel::setLiveRuns(const std::vector<LiveRun>& runs) {
  m_liveRuns = runs;
  showLiveRuns();
}

bool ModelPanel::usesGpu() const {
  const QString device = m_device->currentData().toString();
  constexpr int onlyCpu = 2; // with "automatic"
  return device == u"auto" ? m_device->count() > onlyCpu : device != u"cpu";
}

void ModelPanel::showLiveRuns() {
  QStringList names;
  const bool gpu = usesGpu();
  for (const LiveRun& run : m_liveRuns)
    if (run.onGpu == gpu) names << run.name;
  if (names.isEmpty()) return m_live->tell({});
  const QString named = names.join(QStringLiteral(", "));
  m_live->tell(gpu ? tr("Training on a GPU now: %1. A model that is loaded on the same card takes memory and time from "
                        "it; the CPU is free.")
                         .arg(named)
                   : tr("Training on the CPU now: %1. A model that is loaded beside it takes memory and time from it.")
                         .arg(named),
               StatusKind::Warning);
}

void ModelPanel::lookAtPlace() {
  m_typed->stop();
  const QString place = m_place->currentText().trimmed();
  if (place == m_lookedAt) return;
  m_lookedAt = place;
  const auto work = [run = toPath(place)] {
    LocalFileSystem files;
    return run.empty() ? std::vector<std::int64_t>() : runInfo(files, run).value_or(RunInfo{}).checkpointSteps;
  };
  inBackground(this, work, [this, place](const std::vector<std::int64_t>& steps) {
    if (place != m_lookedAt) return;
    while (m_checkpoint->count() > 2) m_checkpoint->removeItem(m_checkpoint->count() - 1);
    for (auto step = steps.rbegin(); step != steps.rend(); ++step)
      m_checkpoint->addItem(tr("Step %1").arg(countText(*step)), static_cast<qlonglong>(*step));
    m_checkpoint->setCurrentIndex(0);
    showState();
  });
}

void ModelPanel::browse() {
  const auto runs = runsFolder();
  const QString typed = m_place->currentText();
  auto* dialog = new QFileDialog(this, tr("A run, a checkpoint or a model folder"),
                                 !typed.isEmpty() ? typed
                                 : runs           ? toQt(*runs)
                                                  : QDir::homePath());
  dialog->setFileMode(QFileDialog::Directory);
  dialog->setOption(QFileDialog::ShowDirsOnly);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  connect(dialog, &QFileDialog::fileSelected, this, &ModelPanel::choose);
  dialog->open();
}

void ModelPanel::load() {
  Q_EMIT aboutToLoad();
  ModelChoice choice;
  choice.path = toPath(QDir::current().absoluteFilePath(m_place->currentText().trimmed()));
  const qlonglong checkpoint = m_checkpoint->currentData().toLongLong();
  if (checkpoint == best) choice.checkpoint = CheckpointChoice::Best;
  if (checkpoint >= 0) choice.step = checkpoint;
  GenerateOptions options;
  options.compute.device = m_device->currentData().toString().toStdString();
  options.compute.precision = static_cast<Precision>(m_precision->currentData().toInt());
  options.context = m_context->value();
  m_progress->setRange(0, 0);
  m_model.load(choice, options);
}

void ModelPanel::showState() {
  const TextModel::State state = m_model.state();
  const bool loading = state == TextModel::State::Loading;
  const bool free = state == TextModel::State::None || state == TextModel::State::Ready;
  for (QWidget* widget : std::initializer_list<QWidget*>{m_place, m_browse, m_device, m_precision, m_context})
    widget->setEnabled(free);
  m_checkpoint->setEnabled(free && m_checkpoint->count() > 2);
  m_load->setEnabled((free || loading) && !m_place->currentText().trimmed().isEmpty());
  m_load->setText(m_model.loaded() ? tr("&Load instead") : tr("&Load"));
  // One takes the place of the other, and the focus.
  QPushButton* const shown = loading ? m_stop : m_load;
  QPushButton* const gone = loading ? m_load : m_stop;
  shown->show();
  if (gone->hasFocus()) shown->setFocus();
  gone->hide();
  m_unload->setVisible(!loading && m_model.loaded());
  m_unload->setEnabled(state == TextModel::State::Ready);
  m_progress->setVisible(loading);
}

void ModelPanel::showModel() {
  showState();
  if (m_model.state() == TextModel::State::Loading) {
    m_message->tell(m_model.isStopping() ? tr("Giving up…") : tr("Looking at the model…"), StatusKind::Unknown);
  } else if (m_model.loaded()) {
    QStringList lines(loadedText(*m_model.loaded()));
    for (const std::string& warning : m_model.loaded()->warnings) lines << toQt(warning);
    m_message->tell(lines.join(u'\n'), lines.size() == 1 ? StatusKind::Good : StatusKind::Warning);
  } else {
    m_message->tell({}, StatusKind::Unknown);
  }
}

} // namespace millrace::ui
