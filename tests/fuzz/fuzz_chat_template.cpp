// The parser and the interpreter of chat templates. The input is a template; behind a zero byte, if there is one, the
// variables follow as JSON.
#include "text/chat_template.h"

#include <cstddef>
#include <cstdint>

using namespace millrace;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t zero = input.find('\0');
  const auto parsed = jinja::Template::parse(input.substr(0, zero));
  if (!parsed) return 0;
  Json variables = Json::object();
  if (zero != std::string_view::npos)
    if (auto json = parseJson(input.substr(zero + 1), "variables"); json && json->is_object()) variables = *json;
  if (variables.empty())
    variables = {
        {"messages", {{{"role", "user"}, {"content", "h\u00e9"}}, {{"role", "assistant"}, {"content", nullptr}}}},
        {"tools", {{{"name", "f"}, {"a", 1.5}}}},
        {"n", 3}};
  jinja::RenderLimits limits; // small, so that many inputs are tried
  limits.steps = 20'000;
  limits.bytes = 1 << 20;
  limits.output = 1 << 16;
  const auto rendered = parsed->render(variables, limits);
  // Whatever comes out fits the limits and is text.
  if (rendered && rendered->text.size() > static_cast<std::size_t>(limits.output)) __builtin_trap();
  return 0;
}
