#include "text/decoder.h"

#include "text/byte_level.h"
#include "text/pattern.h"
#include "text/utf8.h"

#include <algorithm>
#include <fmt/format.h>

namespace millrace {

namespace {

constexpr std::string_view replacementCharacter = "\xEF\xBF\xBD"; // U+FFFD

class ByteLevelDecoder final : public Decoder {
 public:
  void apply(std::vector<std::string>& tokens) const override {
    std::string bytes;
    for (const std::string& token : tokens) bytes += byteLevelBytes(token).value_or(token);
    std::string text;
    appendRepairedUtf8(bytes, text);
    tokens.assign(1, std::move(text));
  }
  bool isByteLevel() const override { return true; }
};

class ByteFallback final : public Decoder {
 public:
  void apply(std::vector<std::string>& tokens) const override {
    std::vector<std::string> out;
    std::string bytes; // of the run of byte tokens so far
    const auto flush = [&] {
      if (bytes.empty()) return;
      if (isValidUtf8(bytes))
        out.push_back(bytes);
      else
        out.insert(out.end(), bytes.size(), std::string(replacementCharacter)); // one for every byte of the run
      bytes.clear();
    };
    for (std::string& token : tokens) {
      if (const int byte = byteOfFallbackToken(token); byte >= 0) {
        bytes.push_back(static_cast<char>(byte));
      } else {
        flush();
        out.push_back(std::move(token));
      }
    }
    flush();
    tokens = std::move(out);
  }
  bool hasByteFallback() const override { return true; }
};

class Fuse final : public Decoder {
 public:
  void apply(std::vector<std::string>& tokens) const override {
    std::string all;
    for (const std::string& token : tokens) all += token;
    tokens.assign(1, std::move(all));
  }
};

class StripDecoder final : public Decoder {
 public:
  StripDecoder(std::string content, std::int64_t start, std::int64_t stop)
      : m_content(std::move(content)), m_start(start), m_stop(stop) {}
  void apply(std::vector<std::string>& tokens) const override {
    for (std::string& token : tokens) {
      std::string_view rest = token;
      for (std::int64_t i = 0; i < m_start && rest.starts_with(m_content); ++i) rest.remove_prefix(m_content.size());
      for (std::int64_t i = 0; i < m_stop && rest.ends_with(m_content); ++i) rest.remove_suffix(m_content.size());
      if (rest.size() != token.size()) token = std::string(rest);
    }
  }

 private:
  std::string m_content;
  std::int64_t m_start;
  std::int64_t m_stop;
};

class ReplaceDecoder final : public Decoder {
 public:
  ReplaceDecoder(std::string from, std::string to) : m_from(std::move(from)), m_to(std::move(to)) {}
  void apply(std::vector<std::string>& tokens) const override {
    for (std::string& token : tokens)
      for (std::size_t at = token.find(m_from); at != std::string::npos; at = token.find(m_from, at + m_to.size()))
        token.replace(at, m_from.size(), m_to);
  }

 private:
  std::string m_from;
  std::string m_to;
};

class MetaspaceDecoder final : public Decoder {
 public:
  MetaspaceDecoder(const std::string& replacement, bool dropsFirst)
      : m_spaces(replacement, " "), m_nothing(replacement, ""), m_dropsFirst(dropsFirst) {}
  void apply(std::vector<std::string>& tokens) const override {
    if (tokens.empty()) return;
    std::vector<std::string> first(1, std::move(tokens.front()));
    (m_dropsFirst ? m_nothing : m_spaces).apply(first);
    tokens.front().clear();
    m_spaces.apply(tokens);
    tokens.front() = std::move(first.front());
  }

 private:
  ReplaceDecoder m_spaces;
  ReplaceDecoder m_nothing;
  bool m_dropsFirst;
};

/// The suffix that ends a word becomes the space behind it, and nothing behind the last.
class BpeDecoder final : public Decoder {
 public:
  explicit BpeDecoder(const std::string& suffix) : m_spaces(suffix, " "), m_nothing(suffix, "") {}
  void apply(std::vector<std::string>& tokens) const override {
    if (tokens.empty()) return;
    std::vector<std::string> last(1, std::move(tokens.back()));
    tokens.pop_back();
    m_spaces.apply(tokens);
    m_nothing.apply(last);
    tokens.push_back(std::move(last.front()));
  }

 private:
  ReplaceDecoder m_spaces;
  ReplaceDecoder m_nothing;
};

class DecoderSequence final : public Decoder {
 public:
  explicit DecoderSequence(std::vector<std::unique_ptr<Decoder>> parts) : m_parts(std::move(parts)) {}
  void apply(std::vector<std::string>& tokens) const override {
    for (const auto& part : m_parts) part->apply(tokens);
  }
  bool isByteLevel() const override { return m_parts.size() == 1 && m_parts.front()->isByteLevel(); }
  bool hasByteFallback() const override {
    return std::any_of(m_parts.begin(), m_parts.end(), [](const auto& part) { return part->hasByteFallback(); });
  }

 private:
  std::vector<std::unique_ptr<Decoder>> m_parts;
};

} // namespace

int byteOfFallbackToken(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token.back() != '>') return -1;
  int value = 0;
  for (const char c : token.substr(3, 2)) {
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                             : -1;
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

Result<std::unique_ptr<Decoder>> makeDecoder(const Json& description, const std::string& where) {
  if (description.is_null()) return nullptr;
  MILLRACE_TRY(const std::string type, componentType(description, where));
  JsonReader reader(description, where, "");
  reader.ignore("type");
  std::unique_ptr<Decoder> made;
  if (type == "ByteLevel") {
    for (const char* key : {"add_prefix_space", "trim_offsets", "use_regex"}) reader.ignore(key);
    made = std::make_unique<ByteLevelDecoder>();
  } else if (type == "ByteFallback") {
    made = std::make_unique<ByteFallback>();
  } else if (type == "Fuse") {
    made = std::make_unique<Fuse>();
  } else if (type == "Strip") {
    const std::string content = reader.text("content", " ");
    if (content.empty()) return badInput(fmt::format("{}.content: expected one character", where));
    const std::int64_t start = reader.integer("start", 0, 0, INT32_MAX);
    made = std::make_unique<StripDecoder>(content, start, reader.integer("stop", 0, 0, INT32_MAX));
  } else if (type == "Replace") {
    const Json& pattern = reader.value("pattern");
    if (!pattern.is_object() || pattern.size() != 1 || !pattern.contains("String") || !pattern["String"].is_string() ||
        pattern["String"].get_ref<const std::string&>().empty())
      return badInput(fmt::format(
          "{}.pattern: expected {{\"String\": text}}; other patterns are not supported in decoders", where));
    made = std::make_unique<ReplaceDecoder>(pattern["String"].get<std::string>(), reader.text("content", ""));
  } else if (type == "BPEDecoder") {
    const std::string suffix = reader.text("suffix", "</w>");
    if (suffix.empty()) return badInput(fmt::format("{}.suffix: expected what ends a word", where));
    made = std::make_unique<BpeDecoder>(suffix);
  } else if (type == "Metaspace") {
    const std::string replacement = reader.text("replacement", "\xE2\x96\x81");
    if (replacement.empty()) return badInput(fmt::format("{}.replacement: expected one character", where));
    const std::string scheme = reader.choice("prepend_scheme", "always", {"always", "first", "never"});
    const bool prefix = reader.boolean("add_prefix_space", true);
    for (const char* key : {"split", "str_rep"}) reader.ignore(key);
    made = std::make_unique<MetaspaceDecoder>(replacement, scheme != "never" && prefix);
  } else if (type == "Sequence") {
    std::vector<std::unique_ptr<Decoder>> parts;
    const Json& list = reader.value("decoders");
    if (!list.is_array()) return badInput(fmt::format("{}.decoders: expected a list", where));
    for (std::size_t i = 0; i < list.size(); ++i) {
      MILLRACE_TRY(auto part, makeDecoder(list[i], fmt::format("{}.decoders[{}]", where, i)));
      if (part) parts.push_back(std::move(part));
    }
    made = std::make_unique<DecoderSequence>(std::move(parts));
  } else {
    return unsupportedComponent(
        where, description,
        {"ByteLevel", "ByteFallback", "Fuse", "Strip", "Replace", "Metaspace", "BPEDecoder", "Sequence"});
  }
  MILLRACE_CHECK(reader.finish());
  return made;
}

} // namespace millrace
