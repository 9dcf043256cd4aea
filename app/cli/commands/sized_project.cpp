#include "sized_project.h"

#include "checks.h"
#include "engine/model_presets.h"
#include "engine/plan.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace millrace::cli {

std::string sizeName(double parameters) {
  const bool small = parameters < 1e9;
  const double shown = parameters / (small ? 1e6 : 1e9);
  return fmt::format("{:.{}f}{}", shown, shown < 10 ? 1 : 0, small ? "M" : "B");
}

void addSizedTraining(CLI::App& command, SizedTraining& options) {
  command
      .add_option("--model-size", options.modelSize, "In place of a project: a new model of so many parameters, 101e9")
      ->option_text("N")
      ->transform(numberFrom(leastModelSize, greatestModelSize));
  command.add_option("--data", options.data, "With --model-size: the text to learn from; may be repeated")
      ->option_text("FILE")
      ->allow_extra_args(false)
      ->check(notEmpty("a file"));
  command
      .add_option("--offload-dir", options.offloadDirectories,
                  "With --model-size: where state may live that memory has no room for; once for each drive")
      ->option_text("DIR")
      ->allow_extra_args(false)
      ->check(notEmpty("a folder"));
  command.add_option("--vram-limit", options.vramLimit, "With --model-size: device memory to use at most")
      ->option_text("SIZE");
  command.add_option("--ram-limit", options.ramLimit, "With --model-size: host memory to use at most")
      ->option_text("SIZE");
}

Result<Project> sizedProject(Program& program, const SizedTraining& options, const HardwareProfile& machine,
                             const std::vector<std::string>& settings) {
  using Json = nlohmann::json;
  if (options.data.empty()) return badInput("--model-size needs --data FILE: what is to be learnt from?");
  MILLRACE_TRY(const ModelConfig config, modelOfSize(options.modelSize));
  const Json vocabulary = Json::parse(config.text)["vocab_size"];
  std::vector<std::string> all{
      "data.sources=" + Json::array({{{"path", options.data}}}).dump(),
      "tokenizer=" + Json{{"train", {{"vocabulary", vocabulary}}}}.dump(),
  };
  if (!options.offloadDirectories.empty())
    all.push_back("memory.nvme.directories=" + Json(options.offloadDirectories).dump());
  if (!options.vramLimit.empty()) all.push_back("memory.vram_limit=" + options.vramLimit);
  if (!options.ramLimit.empty()) all.push_back("memory.ram_limit=" + options.ramLimit);
  all.insert(all.end(), settings.begin(), settings.end());
  return projectOfModel(program.files, sizeName(options.modelSize), config, machine, 0, all);
}

} // namespace millrace::cli
