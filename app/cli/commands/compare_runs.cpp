#include "compare_runs.h"

#include "engine/run_compare.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace millrace::cli {

namespace {

constexpr std::size_t keyWidth = 30;
constexpr std::size_t columnWidth = 24;

struct CompareOptions {
  std::vector<std::string> runs;
  bool json = false;
};

Json number(const std::optional<double>& value) {
  if (!value) return nullptr;
  if (std::isfinite(*value)) return *value;
  return std::isnan(*value) ? "nan" : *value > 0 ? "inf" : "-inf";
}

Json toJson(const std::optional<EvaluatedStep>& evaluation) {
  if (!evaluation) return nullptr;
  return {{"step", evaluation->step}, {"loss", number(evaluation->loss)}};
}

Json toJson(const ComparedRun& run) {
  return {{"name", run.details.info.name},
          {"path", run.details.info.path.string()},
          {"outcome", toString(run.details.info.outcome)},
          {"reason", run.details.info.reason},
          {"model", run.details.model},
          {"steps", run.steps},
          {"tokens", run.tokens},
          {"seconds", run.seconds},
          {"tokens_per_second", run.tokensPerSecond},
          {"loss", number(run.loss)},
          {"steps_not_finite", run.unfinite},
          {"validation", toJson(run.details.lastValidation)},
          {"best_validation", toJson(run.details.bestValidation)}};
}

Json toJson(const std::vector<LossesAt>& losses) {
  Json all = Json::array();
  for (const LossesAt& mark : losses) {
    Json training = Json::array(), validation = Json::array();
    for (const LossAt& run : mark.runs) {
      training.push_back(number(run.training));
      validation.push_back(number(run.validation));
    }
    all.push_back({{"at", mark.at}, {"training", std::move(training)}, {"validation", std::move(validation)}});
  }
  return all;
}

Json toJson(const RunComparison& comparison) {
  Json runs = Json::array(), settings = Json::array();
  for (const ComparedRun& run : comparison.runs) runs.push_back(toJson(run));
  for (const SettingDifference& difference : comparison.settings) {
    Json values = Json::array();
    for (const auto& value : difference.values) values.push_back(value.value_or(Json(nullptr)));
    settings.push_back({{"key", difference.key}, {"values", std::move(values)}});
  }
  return {{"runs", std::move(runs)},
          {"comparable", comparison.warnings.empty()},
          {"warnings", comparison.warnings},
          {"settings", std::move(settings)},
          {"losses",
           {{"by_steps", toJson(comparison.bySteps)},
            {"by_tokens", toJson(comparison.byTokens)},
            {"by_seconds", toJson(comparison.bySeconds)}}}};
}

std::string cell(const std::optional<double>& loss) {
  return loss ? fmt::format("{:.4f}", *loss) : "-";
}

std::string cell(const std::optional<EvaluatedStep>& evaluation) {
  return evaluation ? fmt::format("{:.4f} (step {})", evaluation->loss, formatCount(evaluation->step)) : "-";
}

void row(Console& console, const std::string& key, const std::vector<std::string>& cells) {
  std::string line = fmt::format("{:<{}}", key, keyWidth);
  for (const std::string& text : cells) line += fmt::format("  {:<{}}", text, columnWidth);
  line.erase(line.find_last_not_of(' ') + 1);
  console.line(printable(line));
}

void printLosses(Console& console, const std::string& title, const std::vector<LossesAt>& losses,
                 const std::function<std::string(double)>& position) {
  if (losses.empty()) return;
  console.line(fmt::format("\nloss at equal {} (training, validation)", title));
  for (const LossesAt& mark : losses) {
    std::vector<std::string> cells;
    for (const LossAt& run : mark.runs)
      cells.push_back(run.validation ? cell(run.training) + ", " + cell(run.validation) : cell(run.training));
    row(console, "  " + position(mark.at), cells);
  }
}

void print(Console& console, const RunComparison& comparison) {
  const auto figure = [&](const std::string& key, auto&& text) {
    std::vector<std::string> cells;
    for (const ComparedRun& run : comparison.runs) cells.push_back(text(run));
    row(console, key, cells);
  };
  figure("", [](const ComparedRun& run) { return run.details.info.name; });
  figure("outcome", [](const ComparedRun& run) { return std::string(toString(run.details.info.outcome)); });
  figure("steps", [](const ComparedRun& run) { return formatCount(run.steps); });
  figure("tokens", [](const ComparedRun& run) { return formatCount(run.tokens); });
  figure("time in steps", [](const ComparedRun& run) { return formatDuration(run.seconds); });
  figure("tokens/s", [](const ComparedRun& run) { return fmt::format("{:.4g}", run.tokensPerSecond); });
  figure("training loss", [](const ComparedRun& run) { return cell(run.loss); });
  figure("validation loss", [](const ComparedRun& run) { return cell(run.details.lastValidation); });
  figure("lowest validation loss", [](const ComparedRun& run) { return cell(run.details.bestValidation); });
  const auto& runs = comparison.runs;
  if (std::any_of(runs.begin(), runs.end(), [](const ComparedRun& run) { return run.unfinite > 0; }))
    figure("steps without a finite loss", [](const ComparedRun& run) { return formatCount(run.unfinite); });
  console.line(comparison.settings.empty() ? "\nno setting differs" : "\nsettings that differ");
  for (const SettingDifference& difference : comparison.settings) {
    std::vector<std::string> cells;
    for (const auto& value : difference.values)
      cells.push_back(value ? value->dump(-1, ' ', false, Json::error_handler_t::replace) : "-");
    row(console, "  " + difference.key, cells);
  }
  const auto count = [](double at) { return formatCount(static_cast<std::int64_t>(at)); };
  printLosses(console, "steps", comparison.bySteps, count);
  printLosses(console, "tokens", comparison.byTokens, count);
  printLosses(console, "time in steps", comparison.bySeconds, &formatDuration);
}

Result<int> compare(Program& program, const CompareOptions& options) {
  Console& console = program.console;
  if (options.json) console.reserveOutput();
  const std::vector<Path> paths(options.runs.begin(), options.runs.end());
  MILLRACE_TRY(const RunComparison comparison, compareRuns(program.files, paths));
  if (options.json) {
    console.result(toJson(comparison).dump(2, ' ', false, Json::error_handler_t::replace));
    return done;
  }
  for (const std::string& warning : comparison.warnings) console.warning(warning);
  print(console, comparison);
  return done;
}

} // namespace

void addCompareRuns(CLI::App& group, Program& program) {
  const auto [command, options] =
      addCommand(group, program, "compare",
                 "Compare runs: settings, losses at equal steps, tokens and times, throughput. Warns where losses say "
                 "nothing about each other",
                 "millrace runs compare ~/runs/goose-1 ~/runs/goose-2", &compare);
  command
      ->add_option("RUN", options->runs, "Run directories, two or more; the first is what the others are held against")
      ->required();
  command->add_flag("--json", options->json, "Print JSON");
}

} // namespace millrace::cli
