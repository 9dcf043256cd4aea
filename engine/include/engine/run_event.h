// What a run tells whoever follows it: plain values, and their JSON form, which is a line of events.jsonl, of
// samples.jsonl and of `watch --json`.
#pragma once

#include "base/result.h"
#include "engine/set_loss.h"
#include "engine/step_metrics.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace millrace {

enum class RunState { Preparing, Running, Paused, Evaluating, Saving, Stopping, Finished, Failed, Interrupted };

/// "preparing", ...
std::string_view toString(RunState state);
/// No run leaves this state by itself.
bool isFinal(RunState state);

struct StateChanged {
  RunState state = RunState::Preparing;
  std::string reason; ///< why paused, failed or interrupted; else empty

  bool operator==(const StateChanged&) const = default;
};

struct Evaluation {
  double loss = 0;
  double perplexity = 0;
  double bitsPerByte = 0;
  bool best = false;              ///< the lowest loss so far
  std::vector<SetLoss> sets = {}; ///< by name; empty where the data names no sets

  bool operator==(const Evaluation&) const = default;
};

struct Sample {
  std::string prompt;
  std::string text; ///< what the model continued the prompt with

  bool operator==(const Sample&) const = default;
};

struct CheckpointSaved {
  std::string path;
  double seconds = 0;
  std::int64_t bytes = 0;

  bool operator==(const CheckpointSaved&) const = default;
};

/// Something that a person should know about.
struct Alert {
  std::string kind; ///< stable word for programs: "non-finite-loss", "disk-full"
  std::string message;
  std::string advice; ///< what to do

  bool operator==(const Alert&) const = default;
};

enum class Severity { Debug, Info, Warning, Error };

std::string_view toString(Severity severity);

struct LogLine {
  Severity severity = Severity::Info;
  std::string message;

  bool operator==(const LogLine&) const = default;
};

struct RunEvent {
  double time = 0;       ///< seconds since 1970
  std::int64_t step = 0; ///< steps done when it happened; with StepMetrics both are those of the metrics
  std::variant<StateChanged, StepMetrics, Evaluation, Sample, CheckpointSaved, Alert, LogLine> body;

  bool operator==(const RunEvent&) const = default;
};

/// One line without its end: an object whose "event" names the alternative.
std::string toJson(const RunEvent& event);

/// BadInput naming source and key. Unknown keys are passed over, unknown events are an error.
Result<RunEvent> runEventFromJson(std::string_view line, const std::string& source);

} // namespace millrace
