// What the program's exit status means.
#pragma once

#include "engine/project_file.h"

namespace millrace::cli {

enum ExitCode {
  done = 0,
  failedWhileRunning = 1,
  badInputOrUsage = 2,
  doesNotFit = 3,
  interruptedAfterSaving = 4,
};

inline ExitCode exitCodeOf(ErrorKind kind) {
  switch (kind) {
  case ErrorKind::BadInput:
    return badInputOrUsage;
  case ErrorKind::DoesNotFit:
    return doesNotFit;
  case ErrorKind::Interrupted:
    return interruptedAfterSaving;
  case ErrorKind::OutOfSpace:
  case ErrorKind::Failed:
    break;
  }
  return failedWhileRunning;
}

} // namespace millrace::cli
