#include "engine/run_event.h"

#include "base/json_number.h"
#include "run/metrics_json.h"

#include <array>

namespace millrace {

namespace {

constexpr std::array stateNames = {"preparing", "running",  "paused", "evaluating", "saving",
                                   "stopping",  "finished", "failed", "interrupted"};
constexpr std::array severityNames = {"debug", "info", "warning", "error"};

template <class Names>
std::size_t indexOf(JsonReader& reader, const std::string& key, const Names& names) {
  if (!reader.has(key)) reader.problem(key, "is missing");
  const std::string name = reader.choice(key, names[0], {names.begin(), names.end()});
  for (std::size_t i = 0; i < names.size(); ++i)
    if (name == names[i]) return i;
  return 0;
}

double number(JsonReader& reader, const std::string& key) {
  const auto value = numberFromJson(reader.value(key));
  if (!value) reader.problem(key, "is missing or not a number");
  return value.value_or(0);
}

Result<std::vector<SetLoss>> readSets(const Json& sets, const std::string& source) {
  std::vector<SetLoss> read;
  if (!sets.is_array()) return read;
  for (const Json& set : sets) {
    JsonReader reader(set, source, "sets.");
    read.push_back({reader.text("name", ""), number(reader, "loss"), number(reader, "perplexity"),
                    number(reader, "bits_per_byte"), reader.integer("targets", 0, 0, INT64_MAX)});
    MILLRACE_CHECK(reader.status());
  }
  return read;
}

struct Writer {
  Json& json;
  void operator()(const StateChanged& body) const {
    json["event"] = "state";
    json["state"] = toString(body.state);
    if (!body.reason.empty()) json["reason"] = body.reason;
  }
  void operator()(const StepMetrics& body) const {
    json["event"] = "step";
    const Json metrics = metricsToJson(body);
    for (const auto& [key, value] : metrics.items()) json[key] = value;
  }
  void operator()(const Evaluation& body) const {
    json["event"] = "evaluation";
    json["loss"] = numberToJson(body.loss);
    json["perplexity"] = numberToJson(body.perplexity);
    json["bits_per_byte"] = numberToJson(body.bitsPerByte);
    json["best"] = body.best;
    for (const SetLoss& set : body.sets)
      json["sets"].push_back({{"name", set.name},
                              {"loss", numberToJson(set.loss)},
                              {"perplexity", numberToJson(set.perplexity)},
                              {"bits_per_byte", numberToJson(set.bitsPerByte)},
                              {"targets", set.targets}});
  }
  void operator()(const Sample& body) const {
    json["event"] = "sample";
    json["prompt"] = body.prompt;
    json["text"] = body.text;
  }
  void operator()(const CheckpointSaved& body) const {
    json["event"] = "checkpoint";
    json["path"] = body.path;
    json["seconds"] = numberToJson(body.seconds);
    json["bytes"] = body.bytes;
  }
  void operator()(const Alert& body) const {
    json["event"] = "alert";
    json["kind"] = body.kind;
    json["message"] = body.message;
    json["advice"] = body.advice;
  }
  void operator()(const LogLine& body) const {
    json["event"] = "log";
    json["severity"] = toString(body.severity);
    json["message"] = body.message;
  }
};

} // namespace

std::string_view toString(RunState state) {
  return stateNames[static_cast<std::size_t>(state)];
}

bool isFinal(RunState state) {
  return state == RunState::Finished || state == RunState::Failed || state == RunState::Interrupted;
}

std::string_view toString(Severity severity) {
  return severityNames[static_cast<std::size_t>(severity)];
}

Json eventToJson(const RunEvent& event) {
  Json json;
  json["event"] = "";
  json["time"] = numberToJson(event.time);
  json["step"] = event.step;
  std::visit(Writer{json}, event.body);
  return json;
}

Result<RunEvent> eventFromJson(const Json& json, const std::string& source) {
  JsonReader reader(json, source);
  if (!reader.has("event")) reader.problem("event", "is missing");
  const std::string kind =
      reader.choice("event", "state", {"state", "step", "evaluation", "sample", "checkpoint", "alert", "log"});
  RunEvent event;
  event.time = number(reader, "time");
  event.step = reader.integer("step", 0, 0, INT64_MAX);
  MILLRACE_CHECK(reader.status());
  if (kind == "state") {
    event.body = StateChanged{static_cast<RunState>(indexOf(reader, "state", stateNames)), reader.text("reason", "")};
  } else if (kind == "step") {
    MILLRACE_TRY(event.body, metricsFromJson(json, source));
  } else if (kind == "evaluation") {
    Evaluation evaluation{number(reader, "loss"), number(reader, "perplexity"), number(reader, "bits_per_byte"),
                          reader.boolean("best", false)};
    MILLRACE_TRY(evaluation.sets, readSets(reader.value("sets"), source));
    event.body = std::move(evaluation);
  } else if (kind == "sample") {
    event.body = Sample{reader.text("prompt", ""), reader.text("text", "")};
  } else if (kind == "checkpoint") {
    event.body =
        CheckpointSaved{reader.text("path", ""), number(reader, "seconds"), reader.integer("bytes", 0, 0, INT64_MAX)};
  } else if (kind == "alert") {
    event.body = Alert{reader.text("kind", ""), reader.text("message", ""), reader.text("advice", "")};
  } else {
    event.body = LogLine{static_cast<Severity>(indexOf(reader, "severity", severityNames)), reader.text("message", "")};
  }
  MILLRACE_CHECK(reader.status());
  return event;
}

std::string toJson(const RunEvent& event) {
  return toLine(eventToJson(event));
}

Result<RunEvent> runEventFromJson(std::string_view line, const std::string& source) {
  MILLRACE_TRY(const Json json, parseJson(line, source));
  return eventFromJson(json, source);
}

} // namespace millrace
