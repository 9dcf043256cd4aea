// RunNotifier: tells the desktop when a run has ended or failed while nobody looks at the window. Where no desktop
// takes notifications it is silent. Owned by the main window; GUI thread.
#pragma once

#include "engine/run_event.h"

#include <QDBusConnection>
#include <QObject>
#include <QPointer>
#include <vector>

class QWidget;

namespace millrace::ui {

class RunSession;

class RunNotifier final : public QObject {
  Q_OBJECT

 public:
  /// window: outlives this; while it is the active one, nothing is told.
  explicit RunNotifier(const QWidget& window, QDBusConnection bus = QDBusConnection::sessionBus(),
                       QObject* parent = nullptr);

  /// In place of the run before.
  void watch(RunSession* session);

 private:
  void take(const std::vector<RunEvent>& events);
  void linkChanged();
  void tell(const QString& title, const QString& text, bool bad);

  const QWidget& m_window;
  const QDBusConnection m_bus;
  QPointer<RunSession> m_session;
  bool m_wasLive = false; ///< it was followed while somebody worked on it
};

} // namespace millrace::ui
