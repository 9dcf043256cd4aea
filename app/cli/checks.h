// What options take, checked while the command line is read, so that the message names the option.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace millrace::cli {

/// A number from least to most: neither infinite nor none at all, and -0 is 0.
CLI::Validator numberFrom(double least, double most);

/// The same of what is counted, which may be written as people say it: 350M, 7B, 1.5T.
CLI::Validator countFrom(double least, double most);

/// Any text but the empty one, which a script gives for a variable that is not set. what: "the name of a machine".
CLI::Validator notEmpty(const std::string& what);

} // namespace millrace::cli
