// How commands are put together: each adds itself to the parser with its options, and leaves in the program what is to
// be done once everything has been parsed.
#pragma once

#include "console.h"
#include "exit_code.h"

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>

namespace millrace::cli {

struct Program {
  FileSystem& files;
  Console& console;
  /// Standard output is what the command is for: not being able to write it is a failure.
  bool outputIsResult = true;
  /// The chosen command; gives the exit code, or the error to print.
  std::function<Result<int>()> action = {};
};

/// A command with options of the type Options, run by `run(program, options)`. The example stands at the end of its
/// help. Returns the command and the options to fill.
template <class Options>
std::pair<CLI::App*, std::shared_ptr<Options>> addCommand(CLI::App& parent, Program& program, const std::string& name,
                                                          const std::string& description, const std::string& example,
                                                          Result<int> (*run)(Program&, const Options&)) {
  CLI::App* const command = parent.add_subcommand(name, description);
  command->footer("Example:\n  " + example);
  auto options = std::make_shared<Options>();
  command->callback(
      [&program, options, run] { program.action = [&program, options, run] { return run(program, *options); }; });
  return {command, options};
}

} // namespace millrace::cli
