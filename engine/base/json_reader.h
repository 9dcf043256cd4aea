// Reading JSON that somebody else wrote: depth-limited parsing, and typed access whose errors name the file and the
// key.
#pragma once

#include "base/file.h"
#include "base/result.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace millrace {

using Json = nlohmann::ordered_json;

/// Parses text; refuses nesting deeper than 128 and duplicate keys. Errors give source, byte and what was expected.
/// faultByte, when given, gets where the parser stopped, counted from 0, if it fails and the place is known.
Result<Json> parseJson(std::string_view text, const std::string& source,
                       std::optional<std::size_t>* faultByte = nullptr);
Result<Json> readJsonFile(FileSystem& files, const Path& path, Bytes limit = 64 * MiB);

/// The known word nearest to the given one (edit distance at most a third of its length), for "did you mean".
std::optional<std::string> nearestWord(std::string_view word, const std::vector<std::string>& known);

/// One JSON object being read key by key. Each key that is asked for counts as known; finish() refuses the others by
/// name. The first problem sticks: later calls return fallbacks, and status() or finish() reports it, with the key's
/// path in Error::key. Not thread-safe.
class JsonReader {
 public:
  /// source: the file's name for messages; prefix: the path of this object inside it ("training.").
  JsonReader(const Json& object, std::string source, std::string prefix = "");

  bool has(const std::string& key);
  std::int64_t integer(const std::string& key, std::int64_t fallback, std::int64_t minimum, std::int64_t maximum);
  double number(const std::string& key, double fallback, double minimum, double maximum);
  bool boolean(const std::string& key, bool fallback);
  std::string text(const std::string& key, const std::string& fallback);
  /// One of the choices, else an error that lists them.
  std::string choice(const std::string& key, const std::string& fallback, const std::vector<std::string>& choices);
  /// A size such as "24GiB" or a number of bytes.
  Bytes bytes(const std::string& key, Bytes fallback);
  /// The nested object, or an empty one when the key is missing or null.
  const Json& object(const std::string& key);
  /// The raw value, null when missing.
  const Json& value(const std::string& key);
  /// Marks a key as known without reading it.
  void ignore(const std::string& key);

  /// Records a problem of this object's own ("key: what is wrong"), unless one is recorded already.
  void problem(const std::string& key, const std::string& what);
  std::string path(const std::string& key) const { return m_prefix + key; }

  Status status() const;
  /// status(), and unknown keys are an error with the nearest known neighbour.
  Status finish() const;

 private:
  const Json* find(const std::string& key);

  const Json& m_object;
  std::string m_source;
  std::string m_prefix;
  std::set<std::string> m_known;
  std::optional<Error> m_error;
};

} // namespace millrace
