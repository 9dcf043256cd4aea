#include "base/json_reader.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <unordered_set>

namespace millrace {

namespace {
const Json emptyObject = Json::object();
const Json nullValue = nullptr;

std::string typeName(const Json& value) {
  if (value.is_string()) {
    std::string text = value.get<std::string>();
    if (text.size() > 40) text = text.substr(0, 40) + "...";
    return fmt::format("'{}'", text);
  }
  if (value.is_object() || value.is_array()) return value.type_name();
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Makes the tree. Refuses deep nesting and duplicate keys, which it looks for in a set: Json keeps its keys in a list,
/// and its own parser looks through that for each of them.
class Builder final : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  bool number_float(number_float_t value, const string_t&) override { return put(value); }
  bool string(string_t& value) override { return put(std::move(value)); }
  bool binary(binary_t&) override { return false; } // JSON text has none
  bool start_object(std::size_t) override {
    m_keys.emplace_back();
    return enter(Json::object());
  }
  bool key(string_t& name) override {
    if (!m_keys.back().insert(name).second) {
      problem = fmt::format("the key '{}' appears twice in one object", name);
      return false;
    }
    m_key = std::move(name);
    return true;
  }
  bool end_object() override {
    m_keys.pop_back();
    m_open.pop_back();
    return true;
  }
  bool start_array(std::size_t) override { return enter(Json::array()); }
  bool end_array() override {
    m_open.pop_back();
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& error) override {
    std::string what = error.what();
    if (const auto bracket = what.find("] "); bracket != std::string::npos) what = what.substr(bracket + 2);
    problem = fmt::format("not valid JSON at byte {}: {}", position, what);
    place = position > 0 ? position - 1 : 0; // the parser counts what it has read
    return false;
  }

  Json root;
  std::string problem;
  std::optional<std::size_t> place;

 private:
  using Members = std::vector<std::pair<const std::string, Json>>; // what an object of Json is

  Json* add(Json value) {
    if (m_open.empty()) {
      root = std::move(value);
      return &root;
    }
    Json& parent = *m_open.back(); // which does not move while it is open
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    Members& members = *parent.get_ptr<Json::object_t*>();
    return &members.emplace_back(std::move(m_key), std::move(value)).second;
  }
  bool put(Json value) {
    add(std::move(value));
    return true;
  }
  bool enter(Json value) {
    if (m_open.size() >= 128) {
      problem = "nested deeper than 128 levels";
      return false;
    }
    m_open.push_back(add(std::move(value)));
    return true;
  }

  std::vector<Json*> m_open;
  std::vector<std::unordered_set<std::string>> m_keys;
  std::string m_key;
};
} // namespace

Result<Json> parseJson(std::string_view text, const std::string& source, std::optional<std::size_t>* faultByte) {
  // The parser takes a NUL byte for the end and would pass over what follows.
  if (const auto nul = text.find('\0'); nul != std::string_view::npos) {
    if (faultByte) *faultByte = nul;
    return badInput(fmt::format("{}: not valid JSON at byte {}: a NUL byte", source, nul));
  }
  Builder builder;
  if (Json::sax_parse(text.begin(), text.end(), &builder)) return std::move(builder.root);
  if (faultByte) *faultByte = builder.place;
  return badInput(fmt::format("{}: {}", source, builder.problem));
}

Result<Json> readJsonFile(FileSystem& files, const Path& path, Bytes limit) {
  MILLRACE_TRY(const std::string text, readTextFile(files, path, limit));
  return parseJson(text, path.string());
}

std::optional<std::string> nearestWord(std::string_view word, const std::vector<std::string>& known) {
  std::optional<std::string> best;
  std::size_t bestDistance = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : known) {
    std::vector<std::size_t> row(candidate.size() + 1);
    for (std::size_t j = 0; j <= candidate.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= word.size(); ++i) {
      std::size_t diagonal = row[0];
      row[0] = i;
      for (std::size_t j = 1; j <= candidate.size(); ++j) {
        const std::size_t above = row[j];
        row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (word[i - 1] == candidate[j - 1] ? 0 : 1)});
        diagonal = above;
      }
    }
    if (row.back() < bestDistance) {
      bestDistance = row.back();
      best = candidate;
    }
  }
  return best;
}

JsonReader::JsonReader(const Json& object, std::string source, std::string prefix)
    : m_object(object.is_object() ? object : emptyObject), m_source(std::move(source)), m_prefix(std::move(prefix)) {
  if (!object.is_object() && !object.is_null()) {
    std::string name = m_prefix;
    if (!name.empty()) name.pop_back();
    m_error = Error{
        ErrorKind::BadInput,
        fmt::format("{}: {} is {}, expected an object", m_source, name.empty() ? "the file" : name, typeName(object)),
        name};
  }
}

const Json* JsonReader::find(const std::string& key) {
  m_known.insert(key);
  const auto entry = m_object.find(key);
  return entry == m_object.end() || entry->is_null() ? nullptr : &*entry;
}

bool JsonReader::has(const std::string& key) {
  return find(key) != nullptr;
}

std::int64_t JsonReader::integer(const std::string& key, std::int64_t fallback, std::int64_t minimum,
                                 std::int64_t maximum) {
  const Json* value = find(key);
  if (!value) return fallback;
  std::int64_t number = 0;
  bool valid = false;
  if (value->is_number_unsigned()) {
    valid = value->get<std::uint64_t>() <= static_cast<std::uint64_t>(INT64_MAX);
    number = valid ? value->get<std::int64_t>() : 0;
  } else if (value->is_number_integer()) {
    valid = true;
    number = value->get<std::int64_t>();
  } else if (value->is_number_float()) { // 1e9 is a float to JSON and an integer to people
    const double real = value->get<double>();
    valid = std::floor(real) == real && std::fabs(real) < 9.0e15;
    number = valid ? static_cast<std::int64_t>(real) : 0;
  }
  if (!valid || number < minimum || number > maximum) {
    if (maximum == INT64_MAX)
      problem(key, fmt::format("is {}, expected a whole number of at least {}", typeName(*value), minimum));
    else
      problem(key, fmt::format("is {}, expected a whole number from {} to {}", typeName(*value), minimum, maximum));
    return fallback;
  }
  return number;
}

double JsonReader::number(const std::string& key, double fallback, double minimum, double maximum) {
  const Json* value = find(key);
  if (!value) return fallback;
  const double number = value->is_number() ? value->get<double>() : std::nan("");
  if (!(number >= minimum && number <= maximum)) {
    problem(key, fmt::format("is {}, expected a number from {} to {}", typeName(*value), minimum, maximum));
    return fallback;
  }
  return number;
}

bool JsonReader::boolean(const std::string& key, bool fallback) {
  const Json* value = find(key);
  if (!value) return fallback;
  if (!value->is_boolean()) {
    problem(key, fmt::format("is {}, expected true or false", typeName(*value)));
    return fallback;
  }
  return value->get<bool>();
}

std::string JsonReader::text(const std::string& key, const std::string& fallback) {
  const Json* value = find(key);
  if (!value) return fallback;
  if (!value->is_string()) {
    problem(key, fmt::format("is {}, expected a text", typeName(*value)));
    return fallback;
  }
  return value->get<std::string>();
}

std::string JsonReader::choice(const std::string& key, const std::string& fallback,
                               const std::vector<std::string>& choices) {
  const std::string value = text(key, fallback);
  if (!has(key) || std::find(choices.begin(), choices.end(), value) != choices.end()) return value;
  problem(key, fmt::format("is '{}', expected one of: {}", value, fmt::join(choices, ", ")));
  return fallback;
}

Bytes JsonReader::bytes(const std::string& key, Bytes fallback) {
  const Json* value = find(key);
  if (!value) return fallback;
  if (value->is_string()) {
    auto parsed = parseBytes(value->get<std::string>());
    if (parsed) return *parsed;
    problem(key, parsed.error().message);
    return fallback;
  }
  return integer(key, fallback, 0, INT64_MAX);
}

const Json& JsonReader::object(const std::string& key) {
  const Json* value = find(key);
  if (!value) return emptyObject;
  if (!value->is_object()) {
    problem(key, fmt::format("is {}, expected an object", typeName(*value)));
    return emptyObject;
  }
  return *value;
}

const Json& JsonReader::value(const std::string& key) {
  const Json* found = find(key);
  return found ? *found : nullValue;
}

void JsonReader::ignore(const std::string& key) {
  m_known.insert(key);
}

void JsonReader::problem(const std::string& key, const std::string& what) {
  if (!m_error) m_error = Error{ErrorKind::BadInput, fmt::format("{}: {} {}", m_source, path(key), what), path(key)};
}

Status JsonReader::status() const {
  if (m_error) return tl::unexpected<Error>(*m_error);
  return {};
}

Status JsonReader::finish() const {
  MILLRACE_CHECK(status());
  for (const auto& [key, value] : m_object.items()) {
    if (m_known.count(key)) continue;
    const auto nearest = nearestWord(key, {m_known.begin(), m_known.end()});
    const std::string help = nearest           ? fmt::format("; did you mean {}?", path(*nearest))
                             : m_known.empty() ? ""
                                               : fmt::format("; known here: {}", fmt::join(m_known, ", "));
    return badInput(fmt::format("{}: {} is not a known key{}", m_source, path(key), help), path(key));
  }
  return {};
}

} // namespace millrace
