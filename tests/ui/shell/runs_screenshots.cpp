#include "ui/shell/runs_screenshots.h"

#include "bridge/text.h"
#include "run/written_run.h"
#include "runs/run_history.h"
#include "runs/run_queue.h"
#include "runs/runs_page.h"

#include <QDialog>
#include <QDir>
#include <QLineEdit>
#include <QPushButton>
#include <QSettings>
#include <QTabWidget>
#include <QTest>
#include <QTreeView>
#include <cmath>

namespace millrace::test {

namespace {

using namespace ui;

const QString longName =
    QString("a-run-whose-name-somebody-has-made-so-long-that-no-window-has-room-for-all-of-it-").repeated(2);

void write(const QString& path, const WrittenRun& run) {
  LocalFileSystem files;
  if (const Status written = writeRun(files, toPath(path), run); !written)
    qFatal("%s", written.error().message.c_str());
}

WrittenRun written(double rate, std::int64_t steps, std::int64_t total) {
  WrittenRun run;
  run.steps = steps;
  run.totalSteps = total;
  run.began = 1.79e9;
  run.loss = [rate](std::int64_t step) {
    const auto at = static_cast<double>(step);
    return 2.2 + 6 * std::exp(-at * rate) + 0.2 * std::sin(at * 1.3) * std::sin(at * 0.37);
  };
  for (std::int64_t step = 50; step <= steps; step += 50) run.evaluations.push_back({step, run.loss(step) + 0.1});
  run.settings["training"] = {{"steps", total}, {"learning_rate", rate}, {"context", 32}};
  return run;
}

/// A page on the runs in a folder.
struct Opened {
  explicit Opened(const QString& folder)
      : settings(folder + "/settings.ini", QSettings::IniFormat),
        history(settings),
        queue(folder + "/queue.json"),
        page(history, queue, {}) {
    queue.open();
    page.resize(1280, 820);
    page.show();
    look();
  }
  void look() {
    history.refresh();
    if (!QTest::qWaitFor([&] { return history.isLoaded() && !history.isLooking() && queue.isReady(); }, 60'000))
      qFatal("no runs");
  }
  void tab(int index) { page.findChild<QTabWidget*>("runsTabs")->setCurrentIndex(index); }

  QSettings settings;
  RunHistory history;
  RunQueue queue;
  RunsPage page;
};

void begin(const QString& folder) {
  QDir(folder).removeRecursively();
  QDir().mkpath(folder);
  qputenv("MILLRACE_RUNS", QFile::encodeName(folder + "/runs"));
  qputenv("XDG_DATA_HOME", QFile::encodeName(folder + "/data"));
}

} // namespace

void runsStates(const std::function<void(QWidget&, const QString&)>& take, const QString& theme,
                const QString& folder) {
  const QString place = folder + "/of-runs";
  begin(place);
  {
    Opened none(place);
    take(none.page, theme + "-runs-empty");
  }
  WrittenRun goose = written(0.01, 400, 400);
  goose.checkpoints = {200, 400};
  goose.best = 200;
  write(place + "/runs/goose-20260101-101010", goose);
  {
    Opened one(place);
    take(one.page, theme + "-runs-one");
    QTest::mouseClick(one.page.findChild<QPushButton*>("deleteThisRun"), Qt::LeftButton);
    QTest::qWait(500);
    take(*one.page.findChild<QDialog*>("deleteDialog"), theme + "-runs-delete");
    one.page.findChild<QDialog*>("deleteDialog")->close();
  }
  WrittenRun swan = written(0.02, 300, 1'000'000'000);
  swan.end.reset();
  swan.checkpoints = {300};
  swan.tokenizer = R"({"other": true})";
  swan.dataFingerprint = "other";
  write(place + "/runs/" + longName + "1", swan);
  WrittenRun failed = written(0.005, 250, 400);
  failed.end = RunState::Failed;
  failed.reason = "10 steps in a row had a loss or gradient norm that is not finite; the last good checkpoint stands: "
                  "lower training.learning_rate and resume or branch from it";
  write(place + "/runs/" + longName + "2", failed);
  for (int i = 3; i < 18; ++i)
    write(place + QStringLiteral("/runs/duck-%1").arg(i), written(0.004 + 0.001 * i, 100 + 10 * i, 400));
  Opened many(place);
  many.history.setNotes(place + "/runs/" + longName + "1", {"long context", "to be gone on with", "baseline"},
                        "The machine went down.\nRate was twice that of goose.");
  many.look();
  const QString gooseRun = place + "/runs/goose-20260101-101010", swanRun = place + "/runs/" + longName + "1";
  many.page.select({swanRun});
  take(many.page, theme + "-runs-many-interrupted");
  many.page.select({place + "/runs/" + longName + "2"});
  take(many.page, theme + "-runs-many-failed");
  many.history.setBaseline(gooseRun);
  many.page.select({swanRun, place + "/runs/duck-5"});
  take(many.page, theme + "-runs-several");
  many.tab(1);
  QTest::qWait(1500);
  take(many.page, theme + "-runs-charts-warning");
  many.tab(2);
  take(many.page, theme + "-runs-settings");
  many.page.findChild<QTreeView*>("runTable")->selectAll();
  many.tab(1);
  QTest::qWait(2000);
  take(many.page, theme + "-runs-charts-many");
  many.tab(3);
  take(many.page, theme + "-runs-queue-empty");
  many.queue.add({.title = "goose", .project = "{}", .folder = "/home/ann", .source = "goose.json"});
  many.queue.add({.title = longName, .project = "{}", .folder = "/home/ann", .source = longName + ".json"});
  many.queue.add({.kind = QueuedRun::Kind::Resume, .title = "duck-5", .run = place + "/runs/duck-5"});
  many.queue.setOn(true);
  many.queue.setRunning(many.queue.runs()[0].id, place + "/runs/goose-2");
  take(many.page, theme + "-runs-queue");
  many.queue.setFailed(many.queue.runs()[1].id,
                       "device memory is too small: 5 MiB is free, and one layer needs 12 MiB");
  take(many.page, theme + "-runs-queue-failed");
  const QSize before = many.page.size();
  for (const QSize size : {QSize(720, 550), QSize(560, 430)}) {
    many.page.resize(size);
    many.tab(3);
    take(many.page, QStringLiteral("%1-runs-queue-%2").arg(theme).arg(size.width()));
    many.page.select({swanRun});
    many.tab(0);
    take(many.page, QStringLiteral("%1-runs-details-%2").arg(theme).arg(size.width()));
  }
  many.page.resize(before);
  many.page.findChild<QLineEdit*>("runFilter")->setText("nothing is called so");
  take(many.page, theme + "-runs-none-match");
}

} // namespace millrace::test
