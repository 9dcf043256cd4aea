#include "text/jinja/template.h"

#include "text/jinja/check.h"
#include "text/jinja/fault.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/parser.h"
#include "text/jinja/unset_names.h"
#include "text/utf8.h"

#include <algorithm>
#include <fmt/format.h>
#include <new>

namespace millrace::jinja {

namespace {

tl::unexpected<TemplateFault> failedWith(const Fault& fault, int line) {
  return tl::unexpected<TemplateFault>(TemplateFault{fault.type, fault.message, fault.line != 0 ? fault.line : line});
}

/// JSON as values; texts are copied.
Value toValue(Heap& heap, const Json& json) {
  switch (json.type()) {
  case Json::value_t::boolean:
    return Value::of(json.get<bool>());
  case Json::value_t::number_integer:
    return Value::of(json.get<std::int64_t>());
  case Json::value_t::number_unsigned:
    if (json.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX))
      raise("OverflowError", fmt::format("{}: whole numbers beyond 64 bits are not supported", json.dump()));
    return Value::of(json.get<std::int64_t>());
  case Json::value_t::number_float:
    return Value::of(json.get<double>());
  case Json::value_t::string:
    return heap.string(json.get_ref<const std::string&>());
  case Json::value_t::array: {
    Values items;
    items.reserve(json.size());
    for (const Json& item : json) items.push_back(toValue(heap, item));
    return heap.list(std::move(items));
  }
  case Json::value_t::object: {
    std::vector<std::pair<Value, Value>> items;
    items.reserve(json.size());
    for (const auto& [key, value] : json.items()) items.emplace_back(heap.string(key), toValue(heap, value));
    return heap.dict(std::move(items));
  }
  default:
    return Value();
  }
}

std::tm localNow() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  return local;
}

} // namespace

struct Template::Impl {
  ParsedTemplate parsed;
};

Template::Template(std::unique_ptr<Impl> impl) : m_impl(std::move(impl)) {}
Template::~Template() = default;
Template::Template(Template&&) noexcept = default;
Template& Template::operator=(Template&&) noexcept = default;

tl::expected<Template, TemplateFault> Template::parse(std::string_view source) {
  try {
    if (source.size() > longestSource)
      raise("TemplateSyntaxError",
            fmt::format("the template has {} bytes, the limit is {}", source.size(), longestSource));
    if (!isValidUtf8(source)) raise("TemplateSyntaxError", "the template is not valid UTF-8");
    auto impl = std::make_unique<Impl>();
    impl->parsed = parseTemplate(source);
    checkTemplate(impl->parsed);
    findUnsetNames(impl->parsed);
    return Template(std::move(impl));
  } catch (const Fault& fault) {
    return failedWith(fault, 0);
  }
}

tl::expected<Rendering, TemplateFault> Template::render(const Json& variables, const RenderLimits& limits,
                                                        const std::optional<std::tm>& now) const {
  if (!variables.is_object()) return failedWith({"TypeError", "the variables are no object"}, 0);
  Interpreter interpreter(m_impl->parsed, {limits.steps, limits.bytes}, limits.output, now ? *now : localNow());
  try {
    for (const auto& [name, value] : variables.items())
      if (uses(name)) interpreter.define(name, toValue(interpreter.heap(), value));
    interpreter.run();
  } catch (const Fault& fault) {
    return failedWith(fault, interpreter.line());
  }
  Rendering rendering;
  rendering.text = interpreter.output();
  for (const auto& [begin, end] : interpreter.generated()) rendering.generated.push_back({begin, end});
  return rendering;
}

bool Template::marksGeneration() const {
  return m_impl->parsed.marksGeneration;
}

bool Template::uses(std::string_view variable) const {
  const auto& names = m_impl->parsed.names;
  return std::find(names.begin(), names.end(), variable) != names.end();
}

} // namespace millrace::jinja
