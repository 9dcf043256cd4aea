// The JSON objects behind the lines of metrics.jsonl and events.jsonl, for code that puts them into larger ones.
#pragma once

#include "base/json_reader.h"
#include "engine/run_event.h"

namespace millrace {

Json metricsToJson(const StepMetrics& metrics);
Result<StepMetrics> metricsFromJson(const Json& json, const std::string& source);

Json eventToJson(const RunEvent& event);
Result<RunEvent> eventFromJson(const Json& json, const std::string& source);

/// The object as one line, whatever bytes its texts hold: what is not UTF-8 is replaced.
std::string toLine(const Json& json);

} // namespace millrace
