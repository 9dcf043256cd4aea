#include "checkpoint/manifest.h"

#include "base/hash.h"
#include "base/json_reader.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace millrace {

namespace {

constexpr std::int64_t formatVersion = 1;

std::string textOf(Json body) {
  Hasher128 hasher;
  hasher.update(body.dump(2));
  body["self"] = hasher.hex();
  return body.dump(2) + "\n";
}

bool isChecksum(const std::string& text) {
  return text.size() == 32 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

} // namespace

const ManifestFile* Manifest::find(const std::string& name) const {
  const auto entry =
      std::find_if(files.begin(), files.end(), [&](const ManifestFile& file) { return file.name == name; });
  return entry == files.end() ? nullptr : &*entry;
}

std::string manifestText(const Manifest& manifest) {
  Json body;
  body["format"] = formatVersion;
  body["step"] = manifest.step;
  body["files"] = Json::array();
  for (const ManifestFile& file : manifest.files)
    body["files"].push_back({{"name", file.name}, {"size", file.size}, {"xxh3", file.xxh3}});
  return textOf(std::move(body));
}

Result<Manifest> readManifest(FileSystem& files, const Path& folder) {
  const Path path = folder / manifestName;
  const std::string source = path.string();
  if (!files.exists(path))
    return badInput(fmt::format("{}: missing: {} is not a complete checkpoint", source, folder.string()));
  MILLRACE_TRY(const std::string text, readTextFile(files, path));
  MILLRACE_TRY(Json json, parseJson(text, source));
  JsonReader reader(json, source);
  const std::int64_t format = reader.integer("format", 0, 1, INT64_MAX);
  MILLRACE_CHECK(reader.status());
  if (format > formatVersion)
    return badInput(
        fmt::format("{}: format is {}, this build reads up to {}: use a newer build", source, format, formatVersion));
  const std::string self = reader.text("self", "");
  Manifest manifest;
  manifest.step = reader.integer("step", 0, 0, INT64_MAX);
  std::set<std::string> names;
  const Json& list = reader.value("files");
  if (!list.is_array()) reader.problem("files", "is missing or not a list");
  for (std::size_t i = 0; list.is_array() && i < list.size(); ++i) {
    JsonReader entry(list[i], source, fmt::format("files[{}].", i));
    ManifestFile file;
    file.name = entry.text("name", "");
    file.size = entry.integer("size", -1, 0, INT64_MAX);
    file.xxh3 = entry.text("xxh3", "");
    if (file.name.empty() || file.name == "." || file.name == ".." || file.name.find('/') != std::string::npos)
      entry.problem("name", fmt::format("is '{}', expected the name of a file in the folder", file.name));
    if (!names.insert(file.name).second) entry.problem("name", fmt::format("'{}' appears twice", file.name));
    if (file.size < 0) entry.problem("size", "is missing");
    if (!isChecksum(file.xxh3)) entry.problem("xxh3", "is not 32 hexadecimal digits");
    MILLRACE_CHECK(entry.finish());
    manifest.files.push_back(std::move(file));
  }
  MILLRACE_CHECK(reader.finish());
  // The text is canonical, so any changed byte shows, white space included.
  json.erase("self");
  if (textOf(std::move(json)) != text)
    return badInput(fmt::format("{}: its own checksum {} does not match: the file is damaged", source, self));
  return manifest;
}

} // namespace millrace
