#include "ctl.h"

#include "engine/runs.h"

#include <fmt/format.h>
#include <map>

namespace millrace::cli {

namespace {

struct CtlOptions {
  std::string directory;
  std::string request;
  bool json = false;
};

const std::map<std::string, std::pair<RunRequest, const char*>> requests = {
    {"status", {RunRequest::Describe, ""}},
    {"pause", {RunRequest::Pause, "asked to pause"}},
    {"resume", {RunRequest::Resume, "asked to go on"}},
    {"checkpoint", {RunRequest::Checkpoint, "asked for a checkpoint"}},
    {"stop", {RunRequest::Stop, "asked to save and stop"}},
};

Json statusJson(const RunInfo& info, const Json& reply) {
  Json json = {{"outcome", toString(info.outcome)}};
  json["state"] = info.state ? Json(toString(*info.state)) : Json(nullptr);
  if (!info.reason.empty()) json["reason"] = info.reason;
  json["step"] = info.last ? info.last->step : 0;
  json["owner"] = info.owner;
  if (reply.is_object())
    for (const auto& [key, value] : reply.items()) json[key] = value; // the process itself knows best
  return json;
}

Result<int> status(Program& program, const CtlOptions& options) {
  MILLRACE_TRY(const RunInfo info, runInfo(program.files, options.directory));
  Json reply;
  if (info.outcome == RunOutcome::Live) {
    MILLRACE_TRY(reply, requestOfRun(program.files, options.directory, RunRequest::Describe));
  }
  const Json json = statusJson(info, reply);
  if (options.json) {
    program.console.result(json.dump(-1, ' ', false, Json::error_handler_t::replace));
    return done;
  }
  for (const auto& [key, value] : json.items())
    if (!value.is_null())
      program.console.line(
          fmt::format("{:<20}{}", key,
                      printable(value.is_string() ? value.get<std::string>()
                                                  : value.dump(-1, ' ', false, Json::error_handler_t::replace))));
  return done;
}

Result<int> ctl(Program& program, const CtlOptions& options) {
  const auto& [request, said] = requests.at(options.request);
  if (request == RunRequest::Describe) return status(program, options);
  MILLRACE_CHECK(requestOfRun(program.files, options.directory, request));
  if (options.json)
    program.console.result(R"({"ok":true})");
  else
    program.console.line(fmt::format("{}: {}", options.directory, said));
  return done;
}

} // namespace

void addCtl(CLI::App& app, Program& program) {
  const auto [command, options] = addCommand(app, program, "ctl", "Ask or steer a run that another process carries out",
                                             "millrace ctl ~/.local/share/millrace/runs/quickstart checkpoint", &ctl);
  command->add_option("RUN_DIR", options->directory, "Directory of the run")->required();
  command->add_option("REQUEST", options->request, "status, pause, resume, checkpoint or stop")
      ->required()
      ->check(CLI::IsMember({"status", "pause", "resume", "checkpoint", "stop"}));
  command->add_flag("--json", options->json, "Print the answer as JSON");
}

} // namespace millrace::cli
