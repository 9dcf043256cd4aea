// WakeUp: how threads of the engine make the GUI thread look at what waits for it. Shared by both sides; the GUI side
// may go at any time.
#pragma once

#include <QObject>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

namespace millrace::ui {

class WakeUp {
 public:
  /// target: lives on the GUI thread; `look` is called there.
  WakeUp(QObject* target, std::function<void()> look) : m_target(target), m_look(std::move(look)) {}

  /// Any thread. Posts one call of `look`.
  void wake() {
    const std::lock_guard lock(m_mutex);
    if (m_target) QMetaObject::invokeMethod(m_target, m_look, Qt::QueuedConnection);
  }

  /// GUI thread: nothing is posted to the target any more.
  void release() {
    const std::lock_guard lock(m_mutex);
    m_target = nullptr;
  }

 private:
  std::mutex m_mutex; // guards m_target
  QObject* m_target;
  const std::function<void()> m_look;
};

} // namespace millrace::ui
