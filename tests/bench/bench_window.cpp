// How long the window keeps anybody waiting: the time to its first paint, and the longest events of its thread while a
// run trains in it with all charts in sight. Prints JSON, and leaves a picture of the window as it was at the end.
//   bench_window PROJECT [SECONDS [PICTURE.png]]
#include "configure/project_document.h"
#include "shell/main_window.h"
#include "style/theme.h"
#include "train/run_session.h"

#include <QApplication>
#include <QElapsedTimer>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QSettings>
#include <QTemporaryDir>
#include <QTextStream>
#include <QThreadPool>
#include <QTimer>
#include <algorithm>
#include <ctime>
#include <map>
#include <vector>

using namespace millrace;
using namespace millrace::ui;

namespace {

double threadMilliseconds() {
  timespec time = {};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return 1e3 * static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_nsec);
}

/// Times every event that is delivered, those inside others with them.
class TimedApplication final : public QApplication {
 public:
  using QApplication::QApplication;

  struct Event {
    double wall, cpu;
    QString what;
  };

  bool notify(QObject* receiver, QEvent* event) override {
    if (!timing || m_depth > 0) return QApplication::notify(receiver, event);
    const QString what = QStringLiteral("%1 to %2").arg(event->type()).arg(receiver->metaObject()->className());
    ++m_depth;
    QElapsedTimer timer;
    timer.start();
    const double before = threadMilliseconds();
    const bool result = QApplication::notify(receiver, event);
    events.push_back({static_cast<double>(timer.nsecsElapsed()) / 1e6, threadMilliseconds() - before, what});
    --m_depth;
    return result;
  }

  bool timing = false;
  std::vector<Event> events;

 private:
  int m_depth = 0;
};

} // namespace

int main(int argc, char** argv) {
  QElapsedTimer sinceStart;
  sinceStart.start();
  TimedApplication application(argc, argv);
  if (argc < 2) qFatal("bench_window PROJECT [SECONDS [PICTURE.png]]");
  const int seconds = argc > 2 ? QByteArray(argv[2]).toInt() : 60;
  QTemporaryDir folder;
  qputenv("MILLRACE_RUNS", folder.filePath("runs").toUtf8());
  QSettings settings(folder.filePath("settings.ini"), QSettings::IniFormat);
  Theme theme;
  MainWindow window(theme, settings, folder.path());
  window.resize(1600, 1300); // all charts in sight
  window.show();
  while (!window.isVisible() || window.grab().isNull()) QApplication::processEvents();
  QApplication::processEvents();
  const auto firstPaint = static_cast<double>(sinceStart.elapsed());

  window.open(QString::fromLocal8Bit(argv[1]));
  bool started = false;
  QObject::connect(&window.document(), &ProjectDocument::validated, &window, [&](bool valid) {
    if (!valid || started) return;
    started = true;
    window.findChild<QAction*>("startAction")->trigger();
  });
  qint64 steps = 0;
  QObject::connect(&window.runs(), &RunControl::sessionChanged, &window, [&](RunSession* session) {
    QObject::connect(
        session, &RunSession::stepped, &window,
        [&] {
          application.timing = true;
          QTimer::singleShot(1000 * seconds, &application, [&] {
            steps = window.runs().session()->last()->step;
            application.timing = false;
            QTimer::singleShot(0, &application, [&] { // the picture is no part of what is timed
              if (argc > 3 && !window.grab().save(QString::fromLocal8Bit(argv[3]))) qWarning("no picture was written");
              window.document().startNew({});
              window.stopAndClose();
            });
          });
        },
        Qt::SingleShotConnection);
  });
  QApplication::exec();
  QThreadPool::globalInstance()->waitForDone();

  auto& events = application.events;
  std::sort(events.begin(), events.end(), [](const auto& a, const auto& b) { return a.wall > b.wall; });
  QJsonArray longest;
  for (std::size_t i = 0; i < std::min<std::size_t>(10, events.size()); ++i)
    longest.append(QJsonObject{{"wall_ms", events[i].wall}, {"cpu_ms", events[i].cpu}, {"event", events[i].what}});
  const auto over = std::count_if(events.begin(), events.end(), [](const auto& event) { return event.wall > 50; });
  QTextStream(stdout) << QJsonDocument(QJsonObject{{"first_paint_ms", firstPaint},
                                                   {"seconds", seconds},
                                                   {"steps", steps},
                                                   {"events", static_cast<qint64>(events.size())},
                                                   {"events_over_50_ms", static_cast<qint64>(over)},
                                                   {"longest", longest}})
                             .toJson();
}
