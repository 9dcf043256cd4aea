#include "storage/safetensors_header.h"

#include "base/json_reader.h"

#include <algorithm>
#include <array>
#include <bit>
#include <fmt/format.h>
#include <optional>
#include <set>
#include <utility>

namespace millrace {

namespace {

constexpr std::size_t maximumRank = 8;
constexpr std::size_t maximumName = 1024;

struct TypeRow {
  StoredType type;
  std::string_view name;
  Bytes bytes;
};
constexpr std::array<TypeRow, 10> types{{
    {StoredType::F64, "F64", 8},
    {StoredType::F32, "F32", 4},
    {StoredType::F16, "F16", 2},
    {StoredType::BF16, "BF16", 2},
    {StoredType::I64, "I64", 8},
    {StoredType::I32, "I32", 4},
    {StoredType::I16, "I16", 2},
    {StoredType::I8, "I8", 1},
    {StoredType::U8, "U8", 1},
    {StoredType::Bool, "BOOL", 1},
}};

const TypeRow& row(StoredType type) {
  return *std::find_if(types.begin(), types.end(), [&](const TypeRow& candidate) { return candidate.type == type; });
}

bool nameIsUsable(std::string_view name) {
  return !name.empty() && name.size() <= maximumName &&
         std::none_of(name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; });
}

std::string shown(std::string_view name) {
  if (name.size() <= 120) return fmt::format("'{}'", name);
  return fmt::format("'{}...' ({} bytes long)", name.substr(0, 100), name.size());
}

/// elements * bytes of a shape, nothing when it does not fit in 63 bits.
std::optional<Bytes> contentSize(StoredType type, const std::vector<std::int64_t>& shape) {
  std::int64_t size = bytesPerElement(type);
  for (const std::int64_t dim : shape) {
    auto product = checkedMultiply(size, dim, "size");
    if (!product) return std::nullopt;
    size = *product;
  }
  return size;
}

/// Takes the JSON as it is read and accepts exactly the structure of a header.
class HeaderHandler final : public nlohmann::json_sax<Json> {
 public:
  SafetensorsHeader header;
  std::string problem;

  bool null() override { return unexpected("null"); }
  bool boolean(bool) override { return unexpected("true or false"); }
  bool number_float(number_float_t, const string_t& text) override { return unexpected(text); }
  bool binary(binary_t&) override { return unexpected("binary data"); }
  bool number_integer(number_integer_t value) override { return integer(value); }
  bool number_unsigned(number_unsigned_t value) override {
    if (value > static_cast<std::uint64_t>(INT64_MAX)) return unexpected(std::to_string(value));
    return integer(static_cast<std::int64_t>(value));
  }

  bool string(string_t& text) override {
    if (m_state == State::Metadata) {
      header.metadata[m_key] = std::move(text);
      return true;
    }
    if (m_state != State::Tensor || m_field != Field::Type) return unexpected("a text");
    for (const TypeRow& candidate : types) {
      if (candidate.name != text) continue;
      current().type = candidate.type;
      return true;
    }
    return stop(fmt::format("tensor {} has dtype {}, which is not supported; supported are {}", shown(current().name),
                            shown(text), typeNames()));
  }

  bool start_object(std::size_t) override {
    switch (m_state) {
    case State::Start:
      m_state = State::Root;
      return true;
    case State::Root:
      m_seen = {};
      if (m_isMetadata) {
        m_state = State::Metadata;
      } else {
        header.tensors.emplace_back().name = m_key;
        m_state = State::Tensor;
      }
      return true;
    default:
      return unexpected("an object");
    }
  }

  bool key(string_t& name) override {
    if (m_state == State::Root) {
      m_key = name;
      m_isMetadata = name == "__metadata__";
      if (!nameIsUsable(name))
        return stop(fmt::format("has the tensor name {}, expected 1 to {} bytes without control characters",
                                shown(printable(name)), maximumName));
      if (!m_names.insert(name).second) return stop(fmt::format("names {} twice", shown(name)));
      return true;
    }
    if (m_state == State::Metadata) {
      m_key = name;
      if (header.metadata.count(name)) return stop(fmt::format("has {} twice in __metadata__", shown(name)));
      return true;
    }
    for (const auto& [word, field] :
         {std::pair{"dtype", Field::Type}, {"shape", Field::Shape}, {"data_offsets", Field::Offsets}}) {
      if (name != word) continue;
      m_field = field;
      bool& seen = m_seen[static_cast<std::size_t>(field)];
      if (seen) return stop(fmt::format("has {} twice in tensor {}", word, shown(current().name)));
      seen = true;
      return true;
    }
    return stop(fmt::format("has the unknown key {} in tensor {}", shown(name), shown(current().name)));
  }

  bool end_object() override {
    if (m_state == State::Root) {
      m_state = State::End;
      return true;
    }
    if (m_state == State::Tensor) {
      const bool complete = m_seen[0] && m_seen[1] && m_seen[2];
      if (!complete) return stop(fmt::format("lacks dtype, shape or data_offsets in tensor {}", shown(current().name)));
    }
    m_state = State::Root;
    return true;
  }

  bool start_array(std::size_t) override {
    if (m_state != State::Tensor || m_field == Field::Type || m_inArray) return unexpected("a list");
    m_inArray = true;
    m_offsets.clear();
    return true;
  }

  bool end_array() override {
    m_inArray = false;
    if (m_field != Field::Offsets) return true;
    StoredTensor& tensor = current();
    if (m_offsets.size() != 2)
      return stop(fmt::format("has {} data_offsets in tensor {}, expected 2", m_offsets.size(), shown(tensor.name)));
    if (m_offsets[1] < m_offsets[0])
      return stop(fmt::format("has data_offsets [{}, {}] in tensor {}: the end lies before the beginning", m_offsets[0],
                              m_offsets[1], shown(tensor.name)));
    tensor.offset = m_offsets[0];
    tensor.bytes = m_offsets[1] - m_offsets[0];
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& error) override {
    std::string what = error.what();
    if (const auto bracket = what.find("] "); bracket != std::string::npos) what = what.substr(bracket + 2);
    if (what.size() > 300) what = what.substr(0, 300) + "...";
    return stop(fmt::format("is not valid JSON at byte {} of the file: {}", position + 8, printable(what)));
  }

 private:
  enum class State { Start, Root, Metadata, Tensor, End };
  enum class Field { Type, Shape, Offsets };

  static std::string printable(std::string text) {
    for (char& c : text)
      if (static_cast<unsigned char>(c) < 0x20) c = '?';
    return text;
  }

  static std::string typeNames() {
    std::vector<std::string_view> names;
    for (const TypeRow& candidate : types) names.push_back(candidate.name);
    return fmt::format("{}", fmt::join(names, ", "));
  }

  StoredTensor& current() { return header.tensors.back(); }

  bool integer(std::int64_t value) {
    if (m_state != State::Tensor || !m_inArray || value < 0) return unexpected(std::to_string(value));
    if (m_field == Field::Shape) {
      current().shape.push_back(value);
      if (current().shape.size() > maximumRank)
        return stop(fmt::format("has more than {} dimensions in tensor {}", maximumRank, shown(current().name)));
    } else {
      m_offsets.push_back(value);
      if (m_offsets.size() > 2)
        return stop(fmt::format("has more than 2 data_offsets in tensor {}", shown(current().name)));
    }
    return true;
  }

  bool stop(std::string text) {
    if (problem.empty()) problem = std::move(text);
    return false;
  }

  bool unexpected(const std::string& what) {
    static constexpr std::array fields{"dtype", "shape", "data_offsets"};
    switch (m_state) {
    case State::Metadata:
      return stop(fmt::format("has {} as __metadata__ {}, expected a text", what, shown(printable(m_key))));
    case State::Tensor:
      return stop(fmt::format("has {} in {} of tensor {}, expected {}", what, fields[static_cast<std::size_t>(m_field)],
                              shown(current().name),
                              m_field == Field::Type ? "the name of a type" : "a list of whole numbers from 0"));
    case State::Root:
      return stop(fmt::format("has {} as {}, expected an object", what, shown(m_key)));
    default:
      return stop(fmt::format("begins with {}, expected an object", what));
    }
  }

  State m_state = State::Start;
  Field m_field = Field::Type;
  bool m_isMetadata = false;
  bool m_inArray = false;
  std::array<bool, 3> m_seen{};
  std::string m_key;
  std::set<std::string, std::less<>> m_names;
  std::vector<std::int64_t> m_offsets;
};

/// Sizes against shapes, and the contents covered without overlap, hole or rest.
Status checkPlaces(std::vector<StoredTensor>& tensors, Bytes begin, Bytes fileBytes, const std::string& source) {
  for (const StoredTensor& tensor : tensors) {
    const auto size = contentSize(tensor.type, tensor.shape);
    if (!size || *size != tensor.bytes)
      return badInput(fmt::format("{}: tensor {} has {} bytes by its data_offsets, expected {} for {} {}", source,
                                  shown(tensor.name), tensor.bytes, size ? std::to_string(*size) : "too many",
                                  toString(tensor.type), shapeText(tensor.shape)));
  }
  std::stable_sort(tensors.begin(), tensors.end(), [](const StoredTensor& a, const StoredTensor& b) {
    return std::pair(a.offset, a.bytes) < std::pair(b.offset, b.bytes);
  });
  const Bytes available = fileBytes - begin;
  Bytes end = 0;
  const StoredTensor* before = nullptr;
  for (StoredTensor& tensor : tensors) {
    if (tensor.offset < end)
      return badInput(fmt::format("{}: tensor {} begins at byte {} of the contents and overlaps {}, which ends at {}",
                                  source, shown(tensor.name), tensor.offset, shown(before->name), end));
    if (tensor.offset > end)
      return badInput(fmt::format("{}: bytes {} to {} of the contents, before tensor {}, belong to no tensor", source,
                                  end, tensor.offset, shown(tensor.name)));
    end = tensor.offset + tensor.bytes; // both are at most 2^63 - 1 and their sum was read as one number
    if (end > available)
      return badInput(fmt::format("{}: tensor {} ends at byte {} of the contents, but the file has only {}: it is "
                                  "truncated; copy or download it again",
                                  source, shown(tensor.name), end, available));
    before = &tensor;
    tensor.offset += begin;
  }
  if (end != available)
    return badInput(fmt::format("{}: {} bytes follow the last tensor, expected none", source, available - end));
  return {};
}

} // namespace

Bytes bytesPerElement(StoredType type) {
  return row(type).bytes;
}

std::string_view toString(StoredType type) {
  return row(type).name;
}

std::int64_t StoredTensor::elements() const {
  return bytes / bytesPerElement(type);
}

std::string shapeText(const std::vector<std::int64_t>& shape) {
  return fmt::format("({})", fmt::join(shape, ", "));
}

Result<SafetensorsHeader> parseSafetensorsHeader(std::string_view text, Bytes fileBytes, const std::string& source) {
  HeaderHandler handler;
  if (!text.starts_with('{'))
    return badInput(
        fmt::format("{}: the header at byte 8 does not begin with an opening brace: not a safetensors file", source));
  // The JSON library takes a zero byte for the end of its input.
  if (const auto zero = text.find('\0'); zero != std::string_view::npos)
    return badInput(
        fmt::format("{}: the header is not valid JSON at byte {} of the file: a zero byte", source, zero + 8));
  if (!Json::sax_parse(text.begin(), text.end(), &handler))
    return badInput(fmt::format("{}: the header {}", source, handler.problem));
  MILLRACE_CHECK(checkPlaces(handler.header.tensors, 8 + static_cast<Bytes>(text.size()), fileBytes, source));
  return std::move(handler.header);
}

Result<FormattedHeader> formatSafetensorsHeader(const std::vector<SafetensorsEntry>& entries,
                                                const std::map<std::string, std::string>& metadata) {
  FormattedHeader result;
  Json root = Json::object();
  if (!metadata.empty()) root["__metadata__"] = metadata;
  std::set<std::string_view> names;
  std::string text = root.dump();
  text.pop_back(); // entries follow; one at a time, since adding to an ordered object searches it
  bool first = metadata.empty();
  for (const SafetensorsEntry& entry : entries) {
    if (!nameIsUsable(entry.name) || entry.name == "__metadata__" || !names.insert(entry.name).second)
      return failed(fmt::format("a safetensors file cannot hold a tensor named {} (empty, too long or there twice)",
                                shown(entry.name)));
    const auto size = contentSize(entry.type, entry.shape);
    const auto end = size ? checkedAdd(result.contentBytes, *size, "size") : Result<std::int64_t>(failed(""));
    if (!end)
      return failed(fmt::format("tensor {} {} is too large for a file", shown(entry.name), shapeText(entry.shape)));
    Json item = Json::object();
    item["dtype"] = toString(entry.type);
    item["shape"] = entry.shape;
    item["data_offsets"] = {result.contentBytes, *end};
    text += fmt::format("{}{}:{}", first ? "" : ",", Json(entry.name).dump(), item.dump());
    result.contentBytes = *end;
    first = false;
  }
  text += '}';
  text.resize(static_cast<std::size_t>(alignUp(static_cast<Bytes>(text.size()), 8)), ' ');
  if (static_cast<Bytes>(text.size()) > maximumSafetensorsHeader)
    return failed(fmt::format("a safetensors header of {} bytes is too long, at most {} are possible", text.size(),
                              maximumSafetensorsHeader));
  const auto length = static_cast<std::uint64_t>(text.size());
  for (int i = 0; i < 8; ++i) result.bytes += static_cast<char>((length >> (8 * i)) & 0xFF);
  result.bytes += text;
  return result;
}

} // namespace millrace
