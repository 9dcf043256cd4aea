#include "engine/tokenizer.h"

#include "base/atomic_file.h"
#include "base/json_reader.h"
#include "data/dataset.h"
#include "engine/project_fields.h"
#include "hardware/detect.h"
#include "text/tokenizer.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace millrace {

namespace {

Result<DataSpec> dataOf(FileSystem& files, const TokenizerTrainingOptions& options) {
  const auto known = dataFormatOf(options.format);
  if (!known)
    return badInput(fmt::format("the format is '{}', expected one of: {}", options.format,
                                fmt::join(findProjectField("data.sources.format")->words, ", ")));
  const DataFormat format = *known;
  DataSpec spec;
  for (const Path& path : options.data) {
    const bool bareFile = path.extension().empty() && files.exists(path) && !files.isDirectory(path);
    SourcePattern source;
    source.path = path.string();
    source.how.format = format != DataFormat::Auto || !bareFile ? format : DataFormat::Text;
    source.how.textField = options.textField;
    source.how.separator = options.separator;
    spec.sources.push_back(std::move(source));
  }
  return spec;
}

Result<std::int32_t> idFrom(const Json& value, const std::string& source) {
  if (value.is_number_integer()) {
    const auto id = value.get<std::int64_t>();
    if (id >= 0 && id <= INT32_MAX) return static_cast<std::int32_t>(id);
  }
  return badInput(fmt::format("{}: holds {}, expected token ids: whole numbers from 0", source, value.dump()));
}

} // namespace

Result<TrainedTokenizer> trainTokenizerFile(FileSystem& files, const TokenizerTrainingOptions& options, const Path& out,
                                            const std::function<bool(const TokenizerTrainingProgress&)>& progress,
                                            const std::function<void(std::string_view)>& warning) {
  using Phase = TokenizerTrainingProgress::Phase;
  // Asked before the work, not after it.
  if (files.isDirectory(out)) return badInput(fmt::format("{}: is a folder, expected a file to write", out.string()));
  MILLRACE_TRY(const DataSpec data, dataOf(files, options));
  Log log;
  if (warning)
    log.addListener([&](LogLevel level, std::string_view message) {
      if (level >= LogLevel::Warning) warning(message);
    });
  const int threads = options.threads > 0 ? options.threads : std::max(1, detectHardware().cpu.usableCores);
  ThreadPool pool(threads);
  BpeTrainerOptions training;
  training.vocabularySize = options.vocabulary;
  training.byteLimit = options.byteLimit;
  MILLRACE_TRY(const std::string json,
               trainTokenizer(
                   files, pool, log, data, training,
                   [&](const DataProgress& reading) {
                     return !progress || progress({Phase::Reading, reading.done, reading.total});
                   },
                   [&](std::int64_t done, std::int64_t total) {
                     return !progress || progress({Phase::Merging, done, total});
                   }));
  MILLRACE_TRY(const Tokenizer tokenizer, Tokenizer::parse(json, out.string()));
  MILLRACE_CHECK(writeTextFile(files, out, json));
  return TrainedTokenizer{tokenizer.vocabularySize(), tokenizer.fingerprint()};
}

struct TextCodec::Implementation {
  Tokenizer tokenizer;
};

TextCodec::TextCodec(std::unique_ptr<Implementation> implementation) : m_implementation(std::move(implementation)) {}
TextCodec::~TextCodec() = default;
TextCodec::TextCodec(TextCodec&&) noexcept = default;
TextCodec& TextCodec::operator=(TextCodec&&) noexcept = default;

Result<TextCodec> TextCodec::open(FileSystem& files, const Path& path) {
  MILLRACE_TRY(Tokenizer tokenizer, Tokenizer::load(files, path));
  return TextCodec(std::make_unique<Implementation>(Implementation{std::move(tokenizer)}));
}

Result<std::vector<std::int32_t>> TextCodec::encode(std::string_view text, bool special) const {
  return m_implementation->tokenizer.encode(text, special);
}

Result<std::string> TextCodec::decode(std::span<const std::int32_t> ids, bool special) const {
  const Tokenizer& tokenizer = m_implementation->tokenizer;
  for (const std::int32_t id : ids)
    if (!tokenizer.token(id))
      return badInput(
          fmt::format("{} is no token: the vocabulary has ids from 0 to {}", id, tokenizer.vocabularySize() - 1));
  return tokenizer.decode(ids, !special);
}

Result<std::string> TextCodec::encodeLine(std::string_view line, bool special, const std::string& source) const {
  MILLRACE_TRY(const Json json, parseJson(line, source));
  if (!json.is_string()) return badInput(fmt::format("{}: holds {}, expected a JSON string", source, json.type_name()));
  const auto ids = encode(json.get_ref<const std::string&>(), special);
  if (!ids) return failure(ids.error().kind, fmt::format("{}: {}", source, ids.error().message));
  std::string result = "{\"ids\":[";
  for (const std::int32_t id : *ids) fmt::format_to(std::back_inserter(result), "{},", id);
  if (!ids->empty()) result.pop_back();
  return result + "]}";
}

Result<std::string> TextCodec::decodeLine(std::string_view line, bool special, const std::string& source) const {
  MILLRACE_TRY(const Json json, parseJson(line, source));
  const Json* list = &json;
  if (json.is_object() && json.contains("ids")) list = &json.at("ids");
  if (!list->is_array())
    return badInput(fmt::format("{}: holds {}, expected {{\"ids\":[...]}} or a list of ids", source,
                                json.is_object() ? "an object without such a list" : json.type_name()));
  std::vector<std::int32_t> ids;
  ids.reserve(list->size());
  for (const Json& value : *list) {
    MILLRACE_TRY(const std::int32_t id, idFrom(value, source));
    ids.push_back(id);
  }
  const auto text = decode(ids, special);
  if (!text) return failure(text.error().kind, fmt::format("{}: {}", source, text.error().message));
  return Json(*text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<std::string> TextCodec::decodeText(std::string_view text, bool special, const std::string& source) const {
  std::vector<std::int32_t> ids;
  constexpr std::string_view between = " \t\r\n,";
  for (std::size_t at = text.find_first_not_of(between); at != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(between, at), text.size());
    const std::string_view word = text.substr(at, end - at);
    std::int32_t id = 0;
    const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), id);
    if (error != std::errc() || stop != word.data() + word.size() || id < 0)
      return badInput(fmt::format("{}: byte {}: '{}' is no token id: expected whole numbers from 0 with spaces between",
                                  source, at, word.substr(0, 40)));
    ids.push_back(id);
    at = text.find_first_not_of(between, end);
  }
  const auto decoded = decode(ids, special);
  if (!decoded) return failure(decoded.error().kind, fmt::format("{}: {}", source, decoded.error().message));
  return *decoded;
}

} // namespace millrace
