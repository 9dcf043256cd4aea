// Draws every page and state of the window into a folder, for people to look at: light and dark, at the scale that
// QT_SCALE_FACTOR says.   ui_screenshots FOLDER [PART...]   parts: train, runs, hardware, playground, window; default:
// all
#include "app/program.h"
#include "bridge/text.h"
#include "configure/configure_page.h"
#include "configure/form_section.h"
#include "configure/project_document.h"
#include "configure/project_form.h"
#include "hardware/hardware_page.h"
#include "playground/playground_page.h"
#include "shell/can_i_train.h"
#include "shell/main_window.h"
#include "shell/start_page.h"
#include "style/theme.h"
#include "support/model_folder.h"
#include "train/charts_panel.h"
#include "train/run_session.h"
#include "train/train_page.h"
#include "ui/hardware/machines.h"
#include "ui/shell/runs_screenshots.h"
#include "ui/train/scripted_feed.h"

#include <QApplication>
#include <QComboBox>
#include <QDialog>
#include <QLabel>
#include <QListWidget>
#include <QMessageBox>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSettings>
#include <QSpinBox>
#include <QTabWidget>
#include <QTest>
#include <cmath>

using namespace millrace;
using namespace millrace::test;
using namespace millrace::ui;

namespace {

const QString longName =
    QString("a-run-whose-name-somebody-has-made-so-long-that-no-window-has-room-for-all-of-it-").repeated(3);

class Album {
 public:
  explicit Album(QString folder) : m_folder(std::move(folder)) {}

  void take(QWidget& widget, const QString& name) {
    QTest::qWait(400); // charts and plans have timers and threads of their own
    takeNow(widget, name);
  }
  void takeNow(QWidget& widget, const QString& name) {
    if (!widget.grab().save(QStringLiteral("%1/%2.png").arg(m_folder, name)))
      qFatal("%s cannot be written", qPrintable(name));
  }

 private:
  const QString m_folder;
};

/// Steps of a run that goes as runs go, from `from` on.
std::vector<RunEvent> steps(int from, int count, std::int64_t total, double scale = 1) {
  std::vector<RunEvent> events;
  for (int i = from; i < from + count; ++i) {
    StepMetrics metrics;
    metrics.step = i;
    metrics.totalSteps = total;
    metrics.time = 1.79e9 + i * 2.5;
    metrics.tokens = static_cast<std::int64_t>(65536 * scale);
    metrics.tokensTotal = metrics.tokens * i;
    metrics.loss = 2.2 + 8.5 * std::exp(-i / 150.0) + 0.15 * std::sin(i * 1.3) * std::sin(i * 0.37);
    if (i == from + count / 2) metrics.loss = 9.5;
    if (i == from + count / 3) metrics.loss = std::nan("");
    metrics.gradNorm = 0.8 + 3 * std::exp(-i / 60.0) + 0.2 * std::sin(i * 2.1);
    metrics.learningRate = 3e-4 * (i < 100 ? i / 100.0 : 0.5 + 0.5 * std::cos(3.14 * i / static_cast<double>(total)));
    metrics.seconds = 2.4;
    metrics.tokensPerSecond = static_cast<double>(metrics.tokens) / 2.4 * (1 + 0.02 * std::sin(i));
    metrics.links = {{"device", 60'000'000'000, 20'000'000'000, 1.2, 0.5, 55e9, 55e9}};
    metrics.stalls = {0.1, 0.05 + 0.05 * std::sin(i * 0.2), 0.02, 0};
    metrics.peak = {21'000'000'000, 96'000'000'000};
    metrics.planned = {22'000'000'000, 97'000'000'000};
    metrics.gpu = GpuMetrics{.utilization = 0.96 + 0.02 * std::sin(i * 0.7),
                             .powerWatts = 430,
                             .temperature = 68,
                             .memoryUsed = 2.2e10,
                             .linkIn = 2.5e10,
                             .linkOut = 8e9};
    events.push_back({metrics.time, i, metrics});
    if (i % 100 == 0) {
      events.push_back({metrics.time, i, Evaluation{metrics.loss + 0.1, std::exp(metrics.loss), 1.2, i % 200 == 0}});
      events.push_back(
          {metrics.time, i,
           Sample{"The best way to", " predict the future is to train on it.\nStep " + std::to_string(i)}});
      events.push_back(
          {metrics.time, i, CheckpointSaved{"/runs/goose/checkpoints/step-" + std::to_string(i), 3.5, 1 << 30}});
    }
  }
  return events;
}

struct Shown {
  explicit Shown(const QString& name, const QString& host = {}, bool answers = true) {
    auto owned = std::make_unique<ScriptedFeed>();
    feed = owned.get();
    feed->hostName = host;
    feed->answers = answers;
    session = std::make_unique<RunSession>(std::move(owned), name, QString());
    session->open();
  }
  ScriptedFeed* feed;
  std::unique_ptr<RunSession> session;
};

void trainStates(Album& album, const QString& theme) {
  TrainPage page;
  page.resize(1280, 820);
  page.show(nullptr);
  static_cast<QWidget&>(page).show();
  album.take(page, theme + "-train-empty");
  {
    Shown run("goose");
    page.show(run.session.get());
    run.feed->tell({{1.79e9, 0, StateChanged{RunState::Preparing, ""}},
                    {1.79e9, 0, LogLine{Severity::Info, "training the tokenizer"}}});
    album.take(page, theme + "-train-preparing");
    run.feed->tell({{1.79e9, 0, StateChanged{RunState::Running, ""}}});
    run.feed->tell(steps(1, 900, 2000));
    album.take(page, theme + "-train-running");
    page.findChild<QTabWidget*>("runTabs")->setCurrentIndex(1);
    run.feed->tell({{1.79e9, 900, StateChanged{RunState::Paused, "on request"}},
                    {1.79e9, 900,
                     Alert{"loss-spike", "step 450: the loss jumped to 9.5 from about 2.63",
                           "if it does not come back, stop and go on from an earlier checkpoint with a lower "
                           "training.learning_rate"}},
                    {1.79e9, 900,
                     Alert{"disk-low", "12 GiB are free where the run is, and its next checkpoint takes 15 GiB",
                           "make room, or lower checkpoint.keep of the next run; when the disk is full this "
                           "run pauses"}},
                    {1.79e9, 900,
                     LogLine{Severity::Warning, "a warning that is long enough to be cut off at the end of a line in a "
                                                "window of usual width, which shows in the tooltip"}}});
    album.take(page, theme + "-train-paused-alerts");
    run.feed->lose();
    album.take(page, theme + "-train-reconnecting");
    page.show(nullptr);
  }
  {
    Shown run("goose");
    page.show(run.session.get());
    run.feed->tell(steps(1, 2000, 2000));
    run.feed->tell({{1.79e9, 2000, StateChanged{RunState::Finished, ""}}});
    run.feed->end();
    page.findChild<QTabWidget*>("runTabs")->setCurrentIndex(0);
    album.take(page, theme + "-train-finished");
    page.openExport();
    album.take(*page.findChild<QDialog*>("exportDialog"), theme + "-export");
    page.findChild<QDialog*>("exportDialog")->close();
    page.show(nullptr);
  }
  {
    Shown run("goose");
    page.show(run.session.get());
    run.feed->tell(steps(1, 300, 2000));
    run.feed->tell({{1.79e9, 300,
                     StateChanged{RunState::Failed, "10 steps in a row had a loss or gradient norm that is not "
                                                    "finite; the last good checkpoint stands: lower "
                                                    "training.learning_rate and resume or branch from it"}}});
    run.feed->end();
    page.findChild<QTabWidget*>("runTabs")->setCurrentIndex(1);
    album.take(page, theme + "-train-failed");
    page.show(nullptr);
  }
  {
    Shown run("goose", {}, false);
    page.show(run.session.get());
    run.feed->tell(steps(1, 300, 2000));
    album.take(page, theme + "-train-reading");
    page.show(nullptr);
  }
  {
    Shown run("goose");
    page.show(run.session.get());
    run.feed->end("/runs/goose: is not a run directory: it has no run.json", false);
    album.take(page, theme + "-train-not-started");
    page.show(nullptr);
  }
  {
    Shown run("goose on box", "box");
    page.show(run.session.get());
    album.take(page, theme + "-train-connecting");
    run.feed->lose();
    album.take(page, theme + "-train-connecting-again");
    run.feed->end("box answers: /runs/goose: there is no such run directory", false);
    album.take(page, theme + "-train-not-reached");
    page.show(nullptr);
  }
  {
    Shown run(longName);
    page.show(run.session.get());
    run.feed->tell(steps(100'000'000, 500, 2'000'000'000, 1e6));
    album.take(page, theme + "-train-long-names-huge-numbers");
    page.resize(900, 600);
    album.take(page, theme + "-train-small-window");
    page.resize(720, 550); // what a window of 800x600 leaves
    album.take(page, theme + "-train-narrow-800");
    page.resize(560, 430);
    album.take(page, theme + "-train-narrow-640");
    page.show(nullptr);
  }
}

void takeInSizes(Album& album, QWidget& page, const QString& name) {
  const QSize before = page.size();
  album.take(page, name);
  page.resize(720, 550); // what a window of 800x600 leaves
  album.take(page, name + "-narrow-800");
  page.resize(560, 430);
  album.take(page, name + "-narrow-640");
  page.resize(before);
}

void hardwareStates(Album& album, const QString& theme) {
  const auto noRuns = [] { return std::vector<LiveRun>(); };
  const auto shows = [&](MachineFunction look, const MachineLoad& load, LiveRunsFunction runs, auto&& taken) {
    HardwarePage page(
        std::move(look), [load](const auto&) { return [load] { return load; }; }, std::move(runs));
    page.resize(1180, 820);
    page.show();
    QTest::qWait(300);
    taken(page);
  };
  MachineLoad load = busyLoad();
  load.gpus.clear();
  shows([](const auto&) { return plainMachine(); }, load, noRuns,
        [&](HardwarePage& page) { takeInSizes(album, page, theme + "-hardware-no-gpu"); });
  shows([](const auto&) { return gpuMachine(); }, busyLoad(),
        [] {
          return std::vector<LiveRun>{{"goose", "/goose", true}};
        },
        [&](HardwarePage& page) { takeInSizes(album, page, theme + "-hardware-gpus-training"); });
  shows(
      [](const auto&) {
        MachineLook look = gpuMachine(longName.toStdString());
        look.profile.cpu.name = longName.toStdString();
        look.profile.disks[0].folder = look.profile.disks[0].mountPoint = "/" + longName.toStdString();
        look.notices = {"NVIDIA H200 at 0000:ab:00.0 is not used: its driver 470.82 is older than the 570.26 that this "
                        "program needs; install a newer driver",
                        "limit of locked memory: /proc/self/limits does not give it"};
        return look;
      },
      {}, noRuns, [&](HardwarePage& page) { takeInSizes(album, page, theme + "-hardware-long-names-silent"); });
  shows(&lookAtMachine, load, noRuns, [&](HardwarePage& page) {
    album.take(page, theme + "-hardware-this-machine");
    QTest::mouseClick(page.findChild<QPushButton*>("measureBegin"), Qt::LeftButton);
    QTest::qWait(2500);
    album.take(page, theme + "-hardware-measuring");
    QTest::mouseClick(page.findChild<QPushButton*>("measureCancel"), Qt::LeftButton);
    album.take(page, theme + "-hardware-giving-up");
    if (!QTest::qWaitFor([&] { return page.findChild<QPushButton*>("measureBegin")->isVisible(); }, 60'000))
      qFatal("measuring goes on");
    album.take(page, theme + "-hardware-given-up");
  });
}

void playgroundStates(Album& album, const QString& theme, const QString& folder) {
  LocalFileSystem files;
  const QString model = folder + "/models/goose";
  const Path path = toPath(model);
  valueOrThrow(files.createDirectories(path));
  Json config = smallConfig("llama");
  config["max_position_embeddings"] = 4096;
  config["hidden_size"] = 256; // slow enough to be seen
  config["intermediate_size"] = 1024;
  config["num_hidden_layers"] = 16;
  writeModelFolder(files, path, config);
  PlaygroundPage page([] { return std::vector<LiveRun>{{"goose", "/goose", false}}; });
  page.resize(1180, 820);
  page.show();
  album.take(page, theme + "-playground-empty");
  const auto button = [&](const char* name) { return page.findChild<QPushButton*>(name); };
  const auto wait = [&](TextModel::State state) {
    if (!QTest::qWaitFor([&] { return page.model().state() == state; }, 60'000)) qFatal("the model does not come");
  };
  page.setPlaces({folder, model});
  QTest::mouseClick(button("modelLoad"), Qt::LeftButton);
  wait(TextModel::State::None);
  takeInSizes(album, page, theme + "-playground-no-model");
  page.findChild<QComboBox*>("modelPlace")->setEditText(model);
  QTest::mouseClick(button("modelLoad"), Qt::LeftButton);
  QTest::qWait(20);
  album.takeNow(page, theme + "-playground-loading");
  wait(TextModel::State::Ready);
  album.take(page, theme + "-playground-loaded");
  page.findChild<QPlainTextEdit*>("prompt")->setPlainText("The mill stands by the race. Water turns the wheel");
  page.findChild<QSpinBox*>("mostTokens")->setValue(2000);
  QTest::mouseClick(button("generateButton"), Qt::LeftButton);
  QTest::qWait(400);
  album.take(page, theme + "-playground-writing");
  QTest::mouseClick(button("stopGenerating"), Qt::LeftButton);
  wait(TextModel::State::Ready);
  takeInSizes(album, page, theme + "-playground-text");
  page.findChild<QTabWidget*>("playgroundTabs")->setCurrentIndex(1);
  album.take(page, theme + "-playground-chat-empty");
  page.findChild<QSpinBox*>("mostTokens")->setValue(60);
  for (const char* message : {"Who turns the stone?", "And who turns the wheel? Say it in so many words that they "
                                                      "fill a line of this window and go on in the next one."}) {
    page.findChild<QPlainTextEdit*>("chatMessage")->setPlainText(message);
    QTest::mouseClick(button("generateButton"), Qt::LeftButton);
    wait(TextModel::State::Ready);
  }
  takeInSizes(album, page, theme + "-playground-chat");
  page.findChild<QComboBox*>("chatTemplate")->setCurrentIndex(0); // that the model has not
  page.findChild<QPlainTextEdit*>("chatMessage")->setPlainText("Well?");
  QTest::mouseClick(button("generateButton"), Qt::LeftButton);
  wait(TextModel::State::Ready);
  album.take(page, theme + "-playground-chat-failed");
}

void windowStates(Album& album, const QString& theme, Theme& colors, const QString& folder) {
  QSettings settings(folder + "/settings.ini", QSettings::IniFormat);
  settings.clear();
  settings.setValue("recent/projects", QStringList{"/home/ann/projects/goose.json", "/home/ann/" + longName + ".json"});
  settings.setValue("recent/runs", QStringList{"/home/ann/runs/goose-20260101-101010", "ssh://box/runs/" + longName});
  MainWindow window(colors, settings, {});
  window.resize(1280, 860);
  window.show();
  auto* start = window.findChild<StartPage*>();
  album.take(window, theme + "-start");
  start->setInterrupted({{"goose", "/runs/goose", "killed: process 1234 on box is gone", 1234, 1.79e9},
                         {longName, "/runs/" + longName, "stopped on request", 1, 1.79e9}});
  const auto ask = [&](const QString& model, int machine, const QString& name) {
    start->findChild<QComboBox*>("askModel")->setCurrentText(model);
    start->findChild<QComboBox*>("askMachine")->setCurrentIndex(machine);
    QTest::mouseClick(start->findChild<QPushButton*>("askPlanner"), Qt::LeftButton);
    auto* verdict = start->findChild<QLabel*>("answerVerdict");
    if (!QTest::qWaitFor([&] { return !verdict->text().startsWith(QStringLiteral("Planning")); }, 60'000))
      qFatal("no answer");
    album.take(window, theme + name);
  };
  ask("qwen2.5-7b", 5, "-start-answer");
  ask("llama-3-405b", 0, "-start-answer-no");
  ask("no-such-model", 0, "-start-answer-wrong");
  const auto takeNarrow = [&](const QString& name) {
    const QSize before = window.size();
    for (const QSize size : {QSize(800, 600), QSize(640, 480)}) {
      window.resize(size);
      album.take(window, QStringLiteral("%1%2-%3").arg(theme, name).arg(size.width()));
    }
    window.resize(before);
  };
  ask("llama-3-405b", 0, "-start-answer-no");
  takeNarrow("-start-narrow");
  QTest::mouseClick(start->findChild<QPushButton*>("template-quickstart"), Qt::LeftButton);
  QTest::qWait(3000);
  takeNarrow("-configure-narrow");
  album.take(window, theme + "-configure-quickstart");
  auto* configure = window.findChild<ConfigurePage*>();
  configure->setBeginning(
      "Branches from " + longName +
      " at step 1,234,567: model, tokenizer, data, context, precision "
      "and seed must stay as they are, and the run's length counts from the beginning of that run.");
  album.take(window, theme + "-configure-branch");
  takeNarrow("-configure-branch-narrow");
  configure->setBeginning({});
  auto* form = window.findChild<ProjectForm*>();
  auto* sections = form->findChild<QListWidget*>(QString(), Qt::FindDirectChildrenOnly);
  for (int section = 0; section < sections->count(); ++section) {
    sections->setCurrentRow(section);
    for (FormSection* each : form->findChildren<FormSection*>()) each->unfold();
    album.take(window, QStringLiteral("%1-configure-section-%2").arg(theme).arg(section + 1));
  }
  sections->setCurrentRow(0);
  window.document().setValue("training.micro_batch", 100'000'000);
  QTest::qWait(1500);
  album.take(window, theme + "-configure-wrong");
  takeNarrow("-configure-wrong-narrow");
  window.document().setValue("training.micro_batch", 4);
  window.document().setValue("memory.vram_limit", "5MiB");
  QTest::qWait(3000);
  album.take(window, theme + "-configure-does-not-fit");
  const QString file = folder + "/changed.json";
  window.document().setValue("memory.vram_limit", "50MiB");
  window.document().setValue("data.sources", "nothing-here.txt");
  window.document().saveAs(file);
  QTest::qWait(1000);
  writeFile(file, readFile(file) + "\n");
  QTest::qWait(3000);
  window.findChild<ProjectForm*>()->reveal("data.sources");
  album.take(window, theme + "-configure-changed-no-data");
  takeNarrow("-configure-changed-no-data-narrow");
  Q_EMIT window.document().openElsewhere("/home/ann/" + longName + ".json", {1234, "millrace-workbench", "box"});
  auto* question = window.findChild<QMessageBox*>("openElsewhereQuestion");
  album.take(*question, theme + "-open-elsewhere");
  question->done(QMessageBox::Cancel);
  window.document().load(file, ProjectDocument::Access::ReadOnly);
  QTest::qWait(1000);
  takeNarrow("-configure-read-only-narrow");
  album.take(window, theme + "-configure-read-only");
  window.document().startNew({});
}

} // namespace

int main(int argc, char** argv) {
  QApplication application(argc, argv);
  if (argc < 2) qFatal("ui_screenshots FOLDER [PART...]");
  const QString folder = QString::fromLocal8Bit(argv[1]);
  QDir().mkpath(folder);
  Album album(folder);
  const QStringList parts = QApplication::arguments().mid(2);
  const auto wants = [&](const char* part) { return parts.isEmpty() || parts.contains(QLatin1String(part)); };
  Theme theme;
  const QString scale = QStringLiteral("-%1x").arg(qRound(application.devicePixelRatio()));
  for (const auto& [choice, name] : {std::pair{ThemeChoice::Light, "light"}, std::pair{ThemeChoice::Dark, "dark"}}) {
    theme.choose(choice);
    if (wants("train")) trainStates(album, name + scale);
    if (wants("runs"))
      runsStates([&](QWidget& widget, const QString& picture) { album.take(widget, picture); }, name + scale, folder);
    if (wants("hardware")) hardwareStates(album, name + scale);
    if (wants("playground")) playgroundStates(album, name + scale, folder);
    if (wants("window")) windowStates(album, name + scale, theme, folder);
  }
}
