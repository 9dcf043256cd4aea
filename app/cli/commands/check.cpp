#include "check.h"

#include "checks.h"
#include "engine/check.h"
#include "engine/runs.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace millrace::cli {

namespace {

struct GoldenOptions {
  std::string folder;
  bool verbose = false;
  bool json = false;
  std::string device = "auto";
  std::string drive;
};

/// How much of its bound an error takes; what is no number takes more than all.
double share(const Comparison& comparison) {
  if (std::isnan(comparison.error)) return INFINITY;
  if (comparison.error == 0) return 0;
  return comparison.bound > 0 ? comparison.error / comparison.bound : INFINITY;
}

std::string describe(const Comparison& comparison) {
  return fmt::format("{}: error {:.2e}, bound {:.2e}", comparison.what, comparison.error, comparison.bound);
}

void print(Console& console, const GoldenResult& result, bool verbose) {
  const auto worst = std::max_element(result.comparisons.begin(), result.comparisons.end(),
                                      [](const Comparison& a, const Comparison& b) { return share(a) < share(b); });
  console.line(fmt::format("{}, {}, under {}: {}, {} comparisons{}", result.caseName, result.setting.name(),
                           formatBytes(result.deviceLimit), result.passed() ? "passed" : "FAILED",
                           result.comparisons.size(),
                           worst == result.comparisons.end()
                               ? ""
                               : fmt::format(", at most {:.3g} of the bound ({})", share(*worst), describe(*worst))));
  for (const Comparison& comparison : result.comparisons)
    if (verbose || !comparison.passed())
      console.line(fmt::format("  {} {}", comparison.passed() ? "passed" : "FAILED", describe(comparison)));
}

Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json(std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
}

const char* wordFor(GoldenPlace place) {
  switch (place) {
  case GoldenPlace::Host:
    return "host";
  case GoldenPlace::Device:
    return "device";
  case GoldenPlace::Disk:
    return "disk";
  case GoldenPlace::Mixture:
    return "mixture";
  }
  return "";
}

Json toJson(const GoldenResult& result) {
  Json comparisons = Json::array();
  for (const Comparison& comparison : result.comparisons)
    comparisons.push_back({{"what", comparison.what},
                           {"error", number(comparison.error)},
                           {"bound", comparison.bound},
                           {"passed", comparison.passed()}});
  return {{"case", result.caseName},
          {"several_micro_batches", result.setting.severalMicroBatches},
          {"recompute", toString(result.setting.recompute)},
          {"place", wordFor(result.setting.place)},
          {"bits", result.bits},
          {"device", result.setting.device},
          {"device_limit", result.deviceLimit},
          {"passed", result.passed()},
          {"comparisons", std::move(comparisons)}};
}

Result<int> golden(Program& program, const GoldenOptions& options) {
  Console& console = program.console;
  if (options.json) console.reserveOutput();
  MILLRACE_TRY(const std::vector<Path> cases, goldenCases(program.files, options.folder));
  const std::vector<GoldenSetting> settings =
      goldenSettings(options.device == "auto" ? "cpu" : options.device, options.drive);
  std::size_t ran = 0, failures = 0, refused = 0;
  Json results = Json::array();
  for (const Path& folder : cases)
    for (const GoldenSetting& setting : settings) {
      console.progress(fmt::format("{} of {}: {}, {}", ran + 1, cases.size() * settings.size(),
                                   folder.filename().string(), setting.name()));
      const Result<GoldenResult> checked = checkGolden(program.files, folder, setting);
      if (!checked && cases.size() > 1 && checked.error().kind == ErrorKind::BadInput) { // the others are still of use
        ++refused;
        if (!options.json)
          console.line(fmt::format("{}: REFUSED: {}", folder.filename().string(), checked.error().message));
        results.push_back(
            {{"case", folder.filename().string()}, {"passed", false}, {"refused", checked.error().message}});
        break;
      }
      MILLRACE_TRY(const GoldenResult result, checked);
      ++ran;
      failures += result.passed() ? 0 : 1;
      if (options.json)
        results.push_back(toJson(result));
      else
        print(console, result, options.verbose);
    }
  if (options.json)
    console.result(Json({{"passed", failures + refused == 0}, {"results", std::move(results)}}).dump(2));
  else
    console.line(fmt::format("{} of {} passed", ran - failures, ran));
  if (failures + refused == 0) return done;
  return failed(fmt::format("{}: {} of {} checks failed, {} of {} cases were refused", options.folder, failures, ran,
                            refused, cases.size()));
}

struct CheckpointOptions {
  std::string folder;
  bool json = false;
};

Result<int> checkpoint(Program& program, const CheckpointOptions& options) {
  Console& console = program.console;
  if (options.json) console.reserveOutput();
  const auto show = [&](const CheckpointCheck& check) {
    if (!options.json)
      console.line(check.error ? fmt::format("{}: DAMAGED: {}", check.path.string(), check.error->message)
                               : fmt::format("{}: good, step {}, {}", check.path.string(), formatCount(check.step),
                                             formatBytes(check.bytes)));
  };
  MILLRACE_TRY(const std::vector<CheckpointCheck> checks, checkCheckpoints(program.files, options.folder, show));
  std::vector<const CheckpointCheck*> damaged;
  Json results = Json::array();
  for (const CheckpointCheck& check : checks) {
    if (check.error) damaged.push_back(&check);
    results.push_back({{"path", check.path.string()},
                       {"step", check.step},
                       {"bytes", check.bytes},
                       {"good", !check.error},
                       {"error", check.error ? Json(check.error->message) : Json(nullptr)}});
  }
  if (options.json)
    console.result(Json({{"good", damaged.empty()}, {"checkpoints", std::move(results)}})
                       .dump(2, ' ', false, Json::error_handler_t::replace));
  if (damaged.empty()) return done;
  if (checks.size() == 1) return tl::unexpected(*damaged.front()->error);
  return badInput(fmt::format("{}: {} of {} checkpoints are damaged", options.folder, damaged.size(), checks.size()));
}

} // namespace

void addCheck(CLI::App& app, Program& program) {
  CLI::App* const group = app.add_subcommand("check", "Check the engine against reference cases, or checkpoints");
  group->require_subcommand(1);
  group->footer("Example:\n  millrace check checkpoint ~/.local/share/millrace/runs/quickstart");
  const auto [reference, goldenOptions] =
      addCommand(*group, program, "golden",
                 "Compute reference cases in every setting and compare: losses, norms, gradients, parameters after six "
                 "steps, decoding. Exit status 1: a comparison fails",
                 "millrace check golden tests/golden --verbose", &golden);
  reference
      ->add_option("DIR", goldenOptions->folder, "A case (config.json, weights, expected.json), or a folder of cases")
      ->required();
  reference->add_flag("--verbose", goldenOptions->verbose, "Print every comparison, not only those that fail");
  reference->add_option("--device", goldenOptions->device, "What computes: auto (the CPU), cpu or cuda:N")
      ->option_text("auto|cpu|cuda:N");
  reference
      ->add_option("--offload-dir", goldenOptions->drive,
                   "A folder on a drive: also with all state there, and with a mixture of all places")
      ->option_text("DIR")
      ->check(notEmpty("a folder"));
  reference->add_flag("--json", goldenOptions->json, "Print every comparison as JSON");
  const auto [saved, checkpointOptions] =
      addCommand(*group, program, "checkpoint", "Read checkpoints whole and compare with their checksums",
                 "millrace check checkpoint ~/.local/share/millrace/runs/quickstart", &checkpoint);
  saved->add_option("DIR", checkpointOptions->folder, "A checkpoint, or a run: all of its checkpoints")->required();
  saved->add_flag("--json", checkpointOptions->json, "Print JSON");
}

} // namespace millrace::cli
