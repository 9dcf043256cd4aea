#include "shell/can_i_train.h"

#include "bridge/background.h"
#include "bridge/text.h"
#include "configure/plan_text.h"
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

namespace millrace::ui {

struct CanITrain::Answer {
  quint64 question = 0;
  QString problem; ///< in place of a report
  PlanReport report;
  QString projectText;
};

namespace {

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
                      {"precision", project.training.precision == Precision::Bf16 ? "bf16" : "fp32"}};
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
    machine = inspectMachine();
  } else {
    MILLRACE_TRY(machine, findMachine(files, question.machine));
    if (machine.nvidia.gpus.size() > 1) options.gpus = static_cast<int>(machine.nvidia.gpus.size());
  }
  MILLRACE_TRY(const auto model, modelOf(files, question.model));
  const bool gpu = !question.machine.empty() && !machine.nvidia.gpus.empty();
  MILLRACE_TRY(const Project project, projectOfModel(files, model.first, model.second, gpu));
  MILLRACE_TRY(report, planProject(files, project, project.name, machine, options));
  text = projectText(project);
  return {};
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
      m_facts(new QLabel),
      m_configure(new QPushButton(icon(QStringLiteral("configure")), tr("Make a project of it"))) {
  m_model->setEditable(true);
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
  m_facts->setObjectName(QStringLiteral("answerFacts"));
  m_facts->setWordWrap(true);
  m_facts->setTextFormat(Qt::PlainText);
  m_facts->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  m_configure->setObjectName(QStringLiteral("makeProject"));
  m_configure->hide();

  auto* form = new QFormLayout;
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
  layout->addWidget(m_facts);
  layout->addWidget(m_configure);
  layout->addStretch(1);

  connect(m_ask, &QPushButton::clicked, this, &CanITrain::ask);
  for (QLineEdit* edit : {m_ram, m_nvme, m_model->lineEdit()})
    connect(edit, &QLineEdit::returnPressed, this, &CanITrain::ask);
  connect(m_configure, &QPushButton::clicked, this, [this] { Q_EMIT projectRequested(m_projectText); });
}

void CanITrain::ask() {
  const Question question{m_model->currentText().trimmed().toStdString(),
                          m_machine->currentData().toString().toStdString(), m_ram->text().trimmed().toStdString(),
                          m_nvme->text().trimmed().toStdString()};
  m_verdict->setText(tr("Planning…"));
  m_icon->clear();
  m_facts->clear();
  m_configure->hide();
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
  for (const std::string& reason : report.reasons) lines << toQt(reason);
  lines << modelText(report);
  lines << tr("%1 of state").arg(bytesText(report.stateBytes));
  for (const PlannedTier& tier : report.tiers)
    if (tier.needed > 0 || tier.limit > 0)
      lines << tr("%1: %2 of %3").arg(toQt(tier.name).toUpper(), bytesText(tier.needed), bytesText(tier.limit));
  for (const auto& [name, value] : timeTexts(report)) lines << tr("%1: %2").arg(name, value);
  if (report.run.driveYears > 0)
    lines << tr("the drive would last %1").arg(durationText(report.run.driveYears * 365.25 * 86400));
  for (const std::string& note : report.notes) lines << toQt(note);
  m_facts->setText(lines.join(u'\n'));
  m_projectText = answer.projectText;
  m_configure->show();
}

} // namespace millrace::ui
