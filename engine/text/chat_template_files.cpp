#include "text/chat_template_files.h"

#include "text/chat_template.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace millrace {

namespace {

/// A token is a text, or an object that holds one.
void addSpecialTokens(const Json& config, Json& tokens) {
  for (const auto& [key, value] : config.items()) {
    if (!key.ends_with("_token") || key.starts_with("add_") || tokens.contains(key)) continue;
    if (value.is_string())
      tokens[key] = value;
    else if (value.is_object() && value.contains("content") && value["content"].is_string())
      tokens[key] = value["content"];
  }
}

/// The template of that name among {"name": ..., "template": ...}; the one called default where no name is given.
Result<std::string> pickNamed(const Json& list, const std::string& name, const std::string& where) {
  std::vector<std::string> names;
  const std::string wanted = name.empty() ? "default" : name;
  for (const Json& entry : list) {
    const bool sound = entry.is_object() && entry.contains("name") && entry["name"].is_string() &&
                       entry.contains("template") && entry["template"].is_string();
    if (!sound)
      return badInput(
          fmt::format("{}: chat_template: expected a text, or a list of objects with a name and a template", where));
    names.push_back(entry["name"].get<std::string>());
    if (names.back() == wanted || (name.empty() && list.size() == 1)) return entry["template"].get<std::string>();
  }
  return badInput(fmt::format("{}: there is no chat template called '{}'; choose one of: {}", where, wanted,
                              fmt::join(names, ", ")));
}

} // namespace

std::string describeTemplateFault(const jinja::TemplateFault& fault, const std::string& where) {
  return fault.line > 0 ? fmt::format("{}: line {}: {}", where, fault.line, fault.text())
                        : fmt::format("{}: {}", where, fault.text());
}

Result<FoundTemplate> findChatTemplate(FileSystem& files, const Path& folder, const std::string& name) {
  if (!files.isDirectory(folder))
    return badInput(fmt::format("{}: is no folder, expected that of a model", folder.string()));
  FoundTemplate found;
  Json config = Json::object();
  const Path configPath = folder / "tokenizer_config.json";
  if (files.exists(configPath)) {
    MILLRACE_TRY(config, readJsonFile(files, configPath));
    if (!config.is_object()) return badInput(fmt::format("{}: expected an object", configPath.string()));
    addSpecialTokens(config, found.specialTokens);
  }
  const Path mapPath = folder / "special_tokens_map.json";
  if (files.exists(mapPath)) {
    MILLRACE_TRY(const Json map, readJsonFile(files, mapPath));
    if (map.is_object()) addSpecialTokens(map, found.specialTokens);
  }

  // Named templates may have files of their own; the default one may too.
  const bool byDefault = name.empty() || name == "default";
  const Path file =
      byDefault ? folder / "chat_template.jinja" : folder / "additional_chat_templates" / (name + ".jinja");
  if (name.find('/') != std::string::npos || name.starts_with('.'))
    return badInput(fmt::format("'{}' is no name of a chat template", name));
  if (files.exists(file)) {
    MILLRACE_TRY(found.source, readTextFile(files, file, static_cast<Bytes>(jinja::Template::longestSource)));
    found.where = file.string();
    return found;
  }
  found.where = configPath.string();
  const Json& value = config.contains("chat_template") ? config["chat_template"] : Json();
  if (value.is_string()) {
    if (!byDefault)
      return badInput(fmt::format("{}: has one chat template without a name, and none called '{}'", found.where, name));
    found.source = value.get<std::string>();
    return found;
  }
  if (value.is_array() && !value.empty()) {
    MILLRACE_TRY(found.source, pickNamed(value, name, found.where));
    return found;
  }
  if (!value.is_null() && !value.is_array())
    return badInput(fmt::format("{}: chat_template is {}, expected a text or a list", found.where, value.type_name()));
  return badInput(fmt::format("{}: has no chat template, as is usual for base models; choose a built-in one: {}",
                              folder.string(), fmt::join(ChatTemplate::builtInNames(), ", ")));
}

} // namespace millrace
