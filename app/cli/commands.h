// All commands of the program.
#pragma once

namespace CLI {
class App;
}

namespace millrace::cli {

struct Program;

void addCommands(CLI::App& app, Program& program);

} // namespace millrace::cli
