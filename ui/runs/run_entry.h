// RunEntry: what the history knows of one run. A plain value; any thread.
#pragma once

#include "engine/run_details.h"

#include <QString>
#include <QStringList>
#include <optional>

namespace millrace::ui {

struct RunEntry {
  QString path = {}; ///< absolute; what tells runs apart
  QString name = {}; ///< of its folder
  QString project = {};
  QString model = {};
  RunOutcome outcome = RunOutcome::Interrupted;
  QString reason = {}; ///< why interrupted or failed
  QString owner = {};  ///< who works or worked on it last
  qint64 step = 0;
  qint64 totalSteps = 0; ///< 0: not known
  qint64 tokens = 0;
  std::optional<double> loss = {}; ///< of the last step
  std::optional<double> tokensPerSecond = {};
  std::optional<double> validation = {}; ///< lowest validation loss
  qint64 validationStep = 0;             ///< of it
  double began = 0;                      ///< seconds since 1970; 0: not known, as of the next
  double changed = 0;                    ///< last sign of life
  int checkpoints = 0;
  qint64 checkpointBytes = 0;
  QStringList tags = {};
  QString notes = {};
  bool present = true; ///< its folder is there
  /// Sizes and times of its files as they were looked at: equal ones need not be read again.
  QString stamp = {};

  /// It ended before its end and left something to go on from; without checkpoints it would go on at its beginning.
  bool canBeResumed() const {
    const bool ended = outcome == RunOutcome::Interrupted || outcome == RunOutcome::Failed;
    return present && ended && (checkpoints > 0 || step > 0);
  }
  bool isLive() const { return present && outcome == RunOutcome::Live; }

  bool operator==(const RunEntry&) const = default;
};

} // namespace millrace::ui
