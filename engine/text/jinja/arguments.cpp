#include "text/jinja/arguments.h"

#include "text/jinja/fault.h"
#include "text/jinja/text_ops.h"

#include <algorithm>
#include <fmt/format.h>

namespace millrace::jinja {

namespace {

std::string countOf(std::size_t least, std::size_t most) {
  if (least == most) return fmt::format("{} positional argument{}", most, most == 1 ? "" : "s");
  return fmt::format("from {} to {} positional arguments", least, most);
}

std::string listed(const std::vector<std::string>& names) {
  std::string list;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) list += i + 1 < names.size() ? ", " : names.size() > 2 ? ", and " : " and ";
    list += inQuotes(names[i]);
  }
  return list;
}

} // namespace

BoundArguments::BoundArguments(const char* function, Arguments& arguments, std::initializer_list<Parameter> parameters,
                               int hidden)
    : m_values(parameters.size()) {
  const auto hiddenCount = static_cast<std::size_t>(hidden);
  for (const auto& given : arguments.named) {
    const std::string& name = given.first;
    const auto parameter =
        std::find_if(parameters.begin(), parameters.end(), [&](const Parameter& p) { return name == p.name; });
    if (parameter == parameters.end())
      raise("TypeError", fmt::format("{}() got an unexpected keyword argument {}", function, inQuotes(name)));
    const auto place = static_cast<std::size_t>(parameter - parameters.begin());
    if (place < arguments.positional.size() || m_values[place])
      raise("TypeError", fmt::format("{}() got multiple values for argument {}", function, inQuotes(name)));
    m_values[place] = given.second;
  }
  if (arguments.positional.size() > parameters.size()) {
    const auto least = static_cast<std::size_t>(
        std::count_if(parameters.begin(), parameters.end(), [](const Parameter& p) { return p.required; }));
    const std::size_t given = arguments.positional.size() + hiddenCount;
    raise("TypeError", fmt::format("{}() takes {} but {} {} given", function,
                                   countOf(least + hiddenCount, parameters.size() + hiddenCount), given,
                                   given == 1 ? "was" : "were"));
  }
  for (std::size_t i = 0; i < arguments.positional.size(); ++i) m_values[i] = arguments.positional[i];
  std::vector<std::string> missing;
  for (std::size_t i = 0; i < parameters.size(); ++i)
    if (const Parameter& parameter = parameters.begin()[i]; parameter.required && !m_values[i])
      missing.emplace_back(parameter.name);
  if (!missing.empty())
    raise("TypeError", fmt::format("{}() missing {} required positional argument{}: {}", function, missing.size(),
                                   missing.size() == 1 ? "" : "s", listed(missing)));
}

void expectPositional(const char* method, const Arguments& arguments, std::size_t least, std::size_t most) {
  if (!arguments.named.empty()) raise("TypeError", fmt::format("{}() takes no keyword arguments", method));
  const std::size_t given = arguments.positional.size();
  if (given >= least && given <= most) return;
  if (most == 0) raise("TypeError", fmt::format("{}() takes no arguments ({} given)", method, given));
  if (least == most && most == 1)
    raise("TypeError", fmt::format("{}() takes exactly one argument ({} given)", method, given));
  const std::string_view full = method;
  const std::string_view bare = full.substr(full.find('.') + 1);
  const std::size_t bound = given < least ? least : most;
  raise("TypeError", fmt::format("{} expected {}{} argument{}, got {}", bare,
                                 least == most   ? ""
                                 : given < least ? "at least "
                                                 : "at most ",
                                 bound, bound == 1 ? "" : "s", given));
}

std::int64_t wholeArgument(const Value& value) {
  if (value.isWhole()) return value.whole();
  raise("TypeError", fmt::format("'{}' object cannot be interpreted as an integer", typeName(value)));
}

} // namespace millrace::jinja
