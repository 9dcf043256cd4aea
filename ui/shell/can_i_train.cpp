#include "shell/can_i_train.h"

#include "bridge/background.h"
#include "bridge/text.h"
#include "bridge/this_machine.h"
#include "configure/plan_text.h"
#include "configure/tier_view.h"
#include "engine/machines.h"
#include "engine/model_presets.h"
#include "engine/runs.h" // Json
#include "style/icons.h"
#include "style/numbers.h"
#include "style/status_colors.h"

#include <QComboBox>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QRegularExpression>
#include <QVBoxLayout>
#include <cmath>

namespace millrace::ui {

struct CanITrain::Answer {
  quint64 question = 0;
  QString problem; ///< in place of a report
  PlanReport report;
  QString projectText;
};

namespace {

/// Of a folder's path; what is longer would only be repeated in messages.
constexpr int mostModelLetters = 300;

struct Question {
  std::string model, machine, ram, nvme; ///< as typed; the machine empty: this one
};

/// "7B", "350M", "1.3e9": a number of parameters; 0: it is none.
double sizeOf(const std::string& text) {
  static const QRegularExpression pattern(QStringLiteral("^([0-9]+(?:\\.[0-9]+)?(?:[eE][0-9]+)?)\\s*([kKmMbBtT]?)$"));
  const auto match = pattern.match(toQt(text));
  if (!match.hasMatch()) return 0;
  const QString unit = match.captured(2).toLower();
  const double scale = unit == u"k" ? 1e3 : unit == u"m" ? 1e6 : unit == u"b" ? 1e9 : unit == u"t" ? 1e12 : 1;
  return match.captured(1).toDouble() * scale;
}

/// The project's name is what the model was called.
Result<std::pair<std::string, ModelSource>> modelOf(FileSystem& files, const std::string& text) {
  if (files.isDirectory(text)) return std::pair(Path(text).filename().string(), ModelSource(ModelFolder{text}));
  if (const double size = sizeOf(text); size > 0) {
    MILLRACE_TRY(ModelConfig config, modelOfSize(size));
    return std::pair(text, ModelSource(std::move(config)));
  }
  MILLRACE_TRY(ModelConfig config, presetConfig(text));
  return std::pair(text, ModelSource(std::move(config)));
}

Result<std::optional<Bytes>> bytesOf(const std::string& text) {
  if (text.empty()) return std::optional<Bytes>();
  MILLRACE_TRY(const Bytes bytes, parseBytes(text));
  if (bytes == 0)
    return badInput(CanITrain::tr("%1 is nothing to plan with: leave the field empty, or give what there is")
                        .arg(toQt(text))
                        .toStdString());
  return std::optional<Bytes>(bytes);
}

/// A project for the model, without the data that is not known yet.
QString projectText(const Project& project) {
  Json json = {{"format", 1}, {"name", project.name}};
  if (const auto* folder = std::get_if<ModelFolder>(&project.model))
    json["model"]["folder"] = folder->folder.string();
  else
    json["model"]["config"] = Json::parse(std::get<ModelConfig>(project.model).text);
  json["data"]["sources"] = Json::array();
  json["training"] = {{"tokens", static_cast<std::int64_t>(project.training.length.amount)},
                      {"context", project.training.context},
                      {"micro_batch", project.training.microBatch},
                      {"tokens_per_step", project.training.tokensPerStep()},
                      {"precision", std::string(toString(project.training.precision))}};
  return toQt(json.dump(2) + "\n");
}

Status answer(const Question& question, PlanReport& report, QString& text) {
  LocalFileSystem files;
  PlanOptions options;
  options.advice = false;
  MILLRACE_TRY(options.budgets.ram, bytesOf(question.ram));
  MILLRACE_TRY(options.budgets.disk, bytesOf(question.nvme));
  options.nvme = options.budgets.disk.value_or(0) > 0;
  HardwareProfile machine;
  if (question.machine.empty()) {
    machine = inspectMachine(foldersOf({}));
  } else {
    MILLRACE_TRY(machine, findMachine(files, question.machine));
    if (machine.nvidia.gpus.size() > 1) options.gpus = static_cast<int>(machine.nvidia.gpus.size());
  }
  MILLRACE_TRY(const auto model, modelOf(files, question.model));
  MILLRACE_TRY(const Project project, projectOfModel(files, model.first, model.second, machine, options.gpus));
  MILLRACE_TRY(report, planProject(files, project, project.name, machine, options));
  text = projectText(project);
  return {};
}

/// In terms of what can be changed here; the engine's reasons name settings of a project.
QString reasonText(const PlanReport& report) {
  const PlannedTier* worst = worstTier(report);
  if (!worst) {
    QStringList reasons;
    for (const std::string& reason : report.reasons) reasons << toQt(reason);
    return reasons.join(u'\n');
  }
  QString text = CanITrain::tr("%1 is too small by %2").arg(tierName(*worst), bytesText(worst->needed - worst->limit));
  if (worst->limit > 0) {
    const double times = static_cast<double>(worst->needed) / static_cast<double>(worst->limit);
    text += CanITrain::tr(": %1 times as much is needed")
                .arg(times < 10 ? numberText(times, 2) : countText(std::llround(times)));
  }
  // On a CPU the device's memory is a part of RAM.
  const bool ofDevice = worst->name == "vram" && report.gpus > 0;
  const QString change = ofDevice ? CanITrain::tr("Choose a machine with more device memory, or a smaller model.")
                         : worst->name == "nvme"
                             ? CanITrain::tr("Enter more NVMe, or choose a smaller model.")
                             : CanITrain::tr("Enter more RAM, or NVMe where state may live; or choose another machine "
                                             "or a smaller model.");
  return text + QStringLiteral(". ") + change;
}

/// The origin of a limit without the setting that is not made: there are no settings here.
PlannedTier withoutSettings(PlannedTier tier) {
  if (const auto end = tier.limitOrigin.find("; memory."); end != std::string::npos) tier.limitOrigin.resize(end);
  return tier;
}

} // namespace

CanITrain::CanITrain(QWidget* parent)
    : QGroupBox(tr("Can I train this?"), parent),
      m_model(new QComboBox),
      m_machine(new QComboBox),
      m_ram(new QLineEdit),
      m_nvme(new QLineEdit),
      m_ask(new QPushButton(tr("&Tell me"))),
      m_icon(new QLabel),
      m_verdict(new QLabel),
      m_reason(new QLabel),
      m_tierLayout(new QVBoxLayout),
      m_facts(new QLabel),
      m_configure(new QPushButton(icon(QStringLiteral("configure")), tr("Make a &project of it"))) {
  m_model->setEditable(true);
  m_model->lineEdit()->setMaxLength(mostModelLetters);
  m_model->setInsertPolicy(QComboBox::NoInsert);
  for (const ModelPreset& preset : modelPresets()) {
    m_model->addItem(toQt(preset.name));
    m_model->setItemData(m_model->count() - 1, toQt(preset.description), Qt::ToolTipRole);
  }
  m_model->setCurrentText(QStringLiteral("qwen2.5-7b"));
  m_model->setToolTip(tr("A known model, a Hugging Face model folder, or a number of parameters such as 13B"));
  m_model->setObjectName(QStringLiteral("askModel"));
  m_machine->addItem(tr("This machine"), QString());
  for (const std::string& name : machineNames()) m_machine->addItem(toQt(name), toQt(name));
  m_machine->setObjectName(QStringLiteral("askMachine"));
  m_ram->setPlaceholderText(tr("what the machine has"));
  m_ram->setToolTip(tr("Host memory, such as 128GiB"));
  m_ram->setObjectName(QStringLiteral("askRam"));
  m_nvme->setPlaceholderText(tr("none"));
  m_nvme->setToolTip(tr("Disk on which state may live, such as 2TB"));
  m_nvme->setObjectName(QStringLiteral("askNvme"));
  m_ask->setObjectName(QStringLiteral("askPlanner"));
  m_verdict->setObjectName(QStringLiteral("answerVerdict"));
  m_verdict->setWordWrap(true);
  m_verdict->setTextFormat(Qt::PlainText);
  m_reason->setObjectName(QStringLiteral("answerReason"));
  m_reason->setWordWrap(true);
  m_reason->setTextFormat(Qt::PlainText);
  m_reason->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  m_tierLayout->setSpacing(10);
  m_facts->setObjectName(QStringLiteral("answerFacts"));
  m_facts->setWordWrap(true);
  m_facts->setTextFormat(Qt::PlainText);
  m_facts->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  m_configure->setObjectName(QStringLiteral("makeProject"));
  m_configure->hide();

  // Names of models and machines are long; where there is little room they are cut.
  for (QComboBox* box : {m_model, m_machine}) {
    box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    box->setMinimumContentsLength(12);
  }
  auto* form = new QFormLayout;
  form->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
  form->addRow(tr("Mo&del:"), m_model);
  form->addRow(tr("M&achine:"), m_machine);
  form->addRow(tr("RA&M:"), m_ram);
  form->addRow(tr("&NVMe:"), m_nvme);
  auto* verdict = new QHBoxLayout;
  verdict->addWidget(m_icon, 0, Qt::AlignTop);
  verdict->addWidget(m_verdict, 1);
  auto* layout = new QVBoxLayout(this);
  layout->addLayout(form);
  layout->addWidget(m_ask);
  layout->addLayout(verdict);
  layout->addWidget(m_reason);
  layout->addLayout(m_tierLayout);
  layout->addWidget(m_facts);
  layout->addWidget(m_configure);
  layout->addStretch(1);

  connect(m_ask, &QPushButton::clicked, this, &CanITrain::ask);
  for (QLineEdit* edit : {m_ram, m_nvme, m_model->lineEdit()})
    connect(edit, &QLineEdit::returnPressed, this, &CanITrain::ask);
  connect(m_configure, &QPushButton::clicked, this, [this] { Q_EMIT projectRequested(m_projectText); });
  clear();
}

void CanITrain::ask() {
  const Question question{m_model->currentText().trimmed().toStdString(),
                          m_machine->currentData().toString().toStdString(), m_ram->text().trimmed().toStdString(),
                          m_nvme->text().trimmed().toStdString()};
  clear();
  m_verdict->setText(tr("Planning…"));
  const auto work = [question, number = ++m_question] {
    auto found = std::make_shared<Answer>();
    found->question = number;
    if (const Status status = answer(question, found->report, found->projectText); !status)
      found->problem = toQt(status.error().message);
    return found;
  };
  inBackground(this, work, [this](const std::shared_ptr<Answer>& found) {
    if (found->question == m_question) show(*found);
  });
}

void CanITrain::clear() {
  m_verdict->clear();
  m_icon->clear();
  m_facts->clear();
  for (QWidget* widget :
       {static_cast<QWidget*>(m_reason), static_cast<QWidget*>(m_facts), static_cast<QWidget*>(m_configure)})
    widget->hide();
  for (TierView* tier : m_tiers) delete tier;
  m_tiers.clear();
}

void CanITrain::showTiers(const PlanReport& report) {
  const PlannedTier* worst = worstTier(report);
  for (const PlannedTier& tier : report.tiers) {
    if (tier.needed == 0 && tier.limit == 0) continue;
    auto* view = new TierView(this, TierView::Detail::Total);
    view->setTier(withoutSettings(tier));
    view->setEmphasised(&tier == worst);
    // What is missing most comes first.
    m_tierLayout->insertWidget(&tier == worst ? 0 : m_tierLayout->count(), view);
    m_tiers.push_back(view);
  }
}

void CanITrain::show(const Answer& answer) {
  const PlanReport& report = answer.report;
  const bool failed = !answer.problem.isEmpty();
  const StatusKind status = failed || !report.fits()           ? StatusKind::Bad
                            : report.verdict == Verdict::Tight ? StatusKind::Warning
                                                               : StatusKind::Good;
  const QString iconName = status == StatusKind::Good      ? QStringLiteral("ok")
                           : status == StatusKind::Warning ? QStringLiteral("warning")
                                                           : QStringLiteral("error");
  const int side = fontMetrics().height() + 4;
  m_icon->setPixmap(icon(iconName).pixmap(QSize(side, side), devicePixelRatioF()));
  QPalette colors = palette();
  colors.setColor(QPalette::WindowText, statusColor(status, palette()));
  m_verdict->setPalette(colors);
  if (failed) {
    m_verdict->setText(answer.problem);
    return;
  }
  const QString where = report.gpus == 0   ? tr("the CPU")
                        : report.gpus == 1 ? toQt(report.device)
                                           : tr("%1 × %2").arg(report.gpus).arg(toQt(report.device));
  m_verdict->setText(tr("%1: %2").arg(verdictText(report.verdict), where));
  QStringList lines;
  lines << modelText(report);
  lines << tr("%1 of state").arg(bytesText(report.stateBytes));
  for (const auto& [name, value] : timeTexts(report)) lines << tr("%1: %2").arg(name, value);
  if (report.run.driveYears > 0)
    lines << tr("the drive would last %1").arg(durationText(report.run.driveYears * 365.25 * 86400));
  for (const std::string& note : report.notes) lines << toQt(note);
  m_reason->setText(reasonText(report));
  m_reason->setVisible(!m_reason->text().isEmpty());
  showTiers(report);
  m_facts->setText(lines.join(u'\n'));
  m_facts->show();
  m_projectText = answer.projectText;
  m_configure->show();
}

} // namespace millrace::ui
