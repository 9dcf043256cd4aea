#include "checks.h"

#include <cmath>
#include <fmt/format.h>

namespace millrace::cli {

CLI::Validator numberFrom(double least, double most) {
  const auto check = [least, most](std::string& text) -> std::string {
    double value = 0;
    if (!CLI::detail::lexical_cast(text, value) || !std::isfinite(value) || value < least || value > most)
      return fmt::format("is '{}', expected a number from {:g} to {:g}", text, least, most);
    if (value == 0) text = "0";
    return {};
  };
  return CLI::Validator(check, "");
}

CLI::Validator notEmpty(const std::string& what) {
  const auto check = [what](const std::string& text) {
    return text.empty() ? fmt::format("is empty, expected {}", what) : std::string();
  };
  return CLI::Validator(check, "");
}

} // namespace millrace::cli
