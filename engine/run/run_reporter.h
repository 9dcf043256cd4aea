// Where everything that a run has to say goes: its files, whoever holds it, and whoever watches through the control
// socket.
#pragma once

#include "base/log.h"
#include "run/control_socket.h"
#include "run/event_queue.h"
#include "run/run_journal.h"

#include <memory>

namespace millrace {

/// report() is for the run's thread; the rest for any thread.
class RunReporter {
 public:
  RunReporter(EventQueue& queue, RunJournal journal) : m_queue(queue), m_journal(std::move(journal)) {}

  /// Afterwards events are published there too.
  void setServer(ControlServer* server) { m_server = server; }

  /// Writes the event down and passes it on. OutOfSpace when the disk is full: it is passed on and waits to be written
  /// (see retry()).
  Status report(RunEvent event);
  /// Writes what waits.
  Status retry() { return m_journal.retry(); }
  Status sync() { return m_journal.sync(); }
  bool waiting() const { return m_journal.pendingLines() > 0; }

 private:
  EventQueue& m_queue;
  RunJournal m_journal;
  ControlServer* m_server = nullptr;
};

} // namespace millrace
