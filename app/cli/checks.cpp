#include "checks.h"

#include <cmath>
#include <fmt/format.h>
#include <string_view>
#include <utility>

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

CLI::Validator countFrom(double least, double most) {
  const auto check = [least, most](std::string& text) -> std::string {
    constexpr std::pair<const char*, const char*> powers[] = {
        {"Kk", "e3"}, {"Mm", "e6"}, {"BbGg", "e9"}, {"Tt", "e12"}};
    std::string written = text;
    for (const auto& [letters, power] : powers)
      if (written.size() > 1 && std::string_view(letters).find(written.back()) != std::string_view::npos &&
          written.find_first_not_of("0123456789.") == written.size() - 1)
        written = written.substr(0, written.size() - 1) + power;
    double value = 0;
    if (!CLI::detail::lexical_cast(written, value) || !std::isfinite(value) || value < least || value > most)
      return fmt::format("is '{}', expected a number from {:g} to {:g}, such as 7B or 7e9", text, least, most);
    text = written;
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
