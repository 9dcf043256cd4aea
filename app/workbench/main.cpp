// The workbench: composes the window and runs it.
#include "shell/main_window.h"
#include "stop_signals.h"
#include "style/theme.h"

#include <QApplication>
#include <QCommandLineParser>
#include <QSettings>
#include <QStandardPaths>

using namespace millrace::ui;

int main(int argc, char** argv) {
  // Before any thread is started: threads inherit what is blocked.
  millrace::workbench::StopSignals signals;
  QApplication::setApplicationName(QStringLiteral("millrace-workbench"));
  QApplication::setApplicationDisplayName(QStringLiteral("Millrace"));
  QApplication::setApplicationVersion(QStringLiteral(MILLRACE_VERSION));
  QApplication::setOrganizationName(QStringLiteral("millrace"));
  QApplication::setDesktopFileName(QStringLiteral("millrace-workbench"));
  QCommandLineParser parser;
  parser.setApplicationDescription(
      QApplication::translate("main", "Configures, starts and watches training runs of language models."));
  const QCommandLineOption help = parser.addHelpOption();
  const QCommandLineOption version = parser.addVersionOption();
  parser.addPositionalArgument(QStringLiteral("PLACE"),
                               QApplication::translate("main",
                                                       "A project file, a model folder, the folder of a run, or "
                                                       "ssh://host/path of one on another machine"),
                               QStringLiteral("[PLACE]"));
  const QCommandLineOption set(
      QStringLiteral("set"), QApplication::translate("main", "Changes the project: training.steps=50. Once for each."),
      QStringLiteral("key=value"));
  parser.addOption(set);
  {
    // What only prints needs no display.
    const QCoreApplication plain(argc, argv);
    parser.parse(QCoreApplication::arguments());
    if (parser.isSet(help)) parser.showHelp();
    if (parser.isSet(version)) parser.showVersion();
  }
  QApplication application(argc, argv);
  parser.process(application);

  QSettings settings;
  Theme theme;
  theme.choose(static_cast<ThemeChoice>(settings.value(QStringLiteral("window/theme"), 0).toInt()));
  MainWindow window(theme, settings, QStandardPaths::writableLocation(QStandardPaths::CacheLocation));
  signals.deliver(&application, [&window] { window.stopAndClose(); });
  const QStringList places = parser.positionalArguments();
  if (!places.isEmpty()) window.open(places.front(), parser.values(set));
  window.show();
  return QApplication::exec();
}
