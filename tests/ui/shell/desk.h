// A main window for tests to click in.
#pragma once

#include "app/program.h"
#include "shell/main_window.h"
#include "style/theme.h"
#include "train/run_session.h"

#include <QAbstractButton>
#include <QApplication>
#include <QDir>
#include <QSettings>
#include <QThreadPool>

namespace millrace::test {

// Within the time that a test function has.
#define TRY(condition) QTRY_VERIFY_WITH_TIMEOUT(condition, 60'000)

/// A window with settings, runs and caches of its own.
class Desk {
 public:
  explicit Desk(const QString& folder) : m_folder(folder), m_settings(folder + "/settings.ini", QSettings::IniFormat) {
    qputenv("MILLRACE_RUNS", QFile::encodeName(folder + "/runs"));
    qputenv("XDG_DATA_HOME", QFile::encodeName(folder + "/data")); // the history of runs and the queue
  }
  ~Desk() {
    m_window.reset();
    QThreadPool::globalInstance()->waitForDone();
  }

  ui::MainWindow& open() {
    m_window.reset(); // one after the other, as processes would be
    m_window = std::make_unique<ui::MainWindow>(m_theme, m_settings, m_folder);
    m_window->runs().setHeadlessProgram(MILLRACE_PROGRAM);
    m_window->show();
    QApplication::setActiveWindow(m_window.get()); // shortcuts are the active window's
    return *m_window;
  }
  ui::MainWindow& window() { return *m_window; }
  ui::RunSession* session() { return m_window->runs().session(); }
  template <class Widget>
  Widget* find(const char* name) {
    return m_window->findChild<Widget*>(QString::fromLatin1(name));
  }
  void click(const char* button) {
    auto* found = find<QAbstractButton>(button);
    QVERIFY2(found, button);
    QVERIFY2(found->isEnabled(), button);
    QTest::mouseClick(found, Qt::LeftButton);
  }
  bool isEnabled(const char* button) {
    auto* found = find<QAbstractButton>(button);
    return found && found->isVisible() && found->isEnabled();
  }
  qint64 step() { return session() && session()->last() ? session()->last()->step : 0; }
  QString onlyRun() const {
    const QStringList names = QDir(m_folder + "/runs").entryList(QDir::Dirs | QDir::NoDotAndDotDot);
    return names.size() == 1 ? m_folder + "/runs/" + names[0] : QString();
  }

 private:
  const QString m_folder;
  ui::Theme m_theme;
  QSettings m_settings;
  std::unique_ptr<ui::MainWindow> m_window;
};

} // namespace millrace::test
