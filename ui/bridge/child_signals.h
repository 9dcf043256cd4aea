// Signals of programs that are started: this program takes SIGINT, SIGTERM and SIGHUP where it can save first, by
// blocking them, and a child would begin with them blocked.
#pragma once

#include <QProcess>

namespace millrace::ui {

/// Before the start.
void withDefaultSignals(QProcess& process);

} // namespace millrace::ui
