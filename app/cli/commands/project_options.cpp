#include "project_options.h"

#include <utility>

namespace millrace::cli {

void addProjectOptions(CLI::App& command, ProjectOptions& options, bool optional) {
  command.add_option("PROJECT", options.project, "Project file (JSON)")->required(!optional);
  const auto settings =
      command.add_option("--set", options.settings,
                         "A setting for this run, as dotted.key=value: training.steps=50; or training.recipe, "
                         "which sets the optimizer's defaults: pretrain, or fine-tune for all weights "
                         "of a trained model. May be repeated");
  settings->option_text("KEY=VALUE")->allow_extra_args(false);
  command.add_option("KEY=VALUE", options.moreSettings, "More settings");
  command.add_option("--device", options.device, "What computes: auto, cpu or cuda:N")->option_text("auto|cpu|cuda:N");
}

void takeProjectForSetting(ProjectOptions& options) {
  if (options.project.find('=') == std::string::npos) return;
  options.moreSettings.insert(options.moreSettings.begin(), std::exchange(options.project, {}));
}

std::vector<std::string> settingsOf(const ProjectOptions& options) {
  std::vector<std::string> settings = options.settings;
  settings.insert(settings.end(), options.moreSettings.begin(), options.moreSettings.end());
  if (!options.device.empty()) settings.push_back("training.device=" + options.device);
  return settings;
}

Result<Project> readProject(Program& program, const ProjectOptions& options) {
  return millrace::readProject(program.files, options.project, settingsOf(options));
}

} // namespace millrace::cli
