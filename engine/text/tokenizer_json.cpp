// Reading tokenizer.json.
#include "base/hash.h"
#include "text/byte_level.h"
#include "text/tokenizer_impl.h"
#include "text/utf8.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace millrace {

namespace {

// Vocabularies have up to a quarter of a million keys: a tree with sorted objects, where Json searches its keys in
// order.
using FileJson = nlohmann::json;

constexpr Bytes fileLimit = 256 * MiB;

/// Brackets are counted before a tree is built, since a parser of nested values recurses or grows with depth.
bool nestedTooDeep(std::string_view text) {
  int depth = 0;
  bool inText = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (inText) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        inText = false;
    } else if (c == '"') {
      inText = true;
    } else if (c == '{' || c == '[') {
      if (++depth > 128) return true;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return false;
}

Result<FileJson> parseFile(std::string_view text, const std::string& source) {
  if (text.starts_with("version https://git-lfs"))
    return badInput(fmt::format("{}: is the pointer of Git LFS to a file that was not downloaded; run git lfs pull in "
                                "its folder, or download it",
                                source));
  if (nestedTooDeep(text)) return badInput(fmt::format("{}: nested deeper than 128 levels", source));
  try {
    return FileJson::parse(text.begin(), text.end());
  } catch (const FileJson::parse_error& error) {
    std::string what = error.what();
    if (const auto bracket = what.find("] "); bracket != std::string::npos) what = what.substr(bracket + 2);
    return badInput(fmt::format("{}: not valid JSON at byte {}: {}", source, error.byte, what));
  } catch (const FileJson::exception& error) {
    return badInput(fmt::format("{}: not valid JSON: {}", source, error.what()));
  }
}

/// The value under the key, null when it is missing. Components are small: a copy with ordered keys costs nothing.
Json component(const FileJson& object, const char* key) {
  const auto entry = object.find(key);
  return entry == object.end() ? Json() : Json(*entry);
}

using Merges = std::vector<std::pair<std::string, std::string>>;

/// Merges are pairs, or in older files strings of two tokens with a space between them.
Result<Merges> readMerges(const FileJson& model, const std::string& where) {
  const auto list = model.find("merges");
  if (list == model.end() || !list->is_array()) return badInput(fmt::format("{}.merges: expected a list", where));
  Merges merges;
  merges.reserve(list->size());
  for (std::size_t i = 0; i < list->size(); ++i) {
    const FileJson& merge = (*list)[i];
    if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
      merges.emplace_back(merge[0].get<std::string>(), merge[1].get<std::string>());
      continue;
    }
    if (merge.is_string()) {
      const std::string& text = merge.get_ref<const std::string&>();
      if (i == 0 && text.starts_with("#version")) continue;
      const std::size_t space = text.find(' ');
      if (space != std::string::npos && text.find(' ', space + 1) == std::string::npos) {
        merges.emplace_back(text.substr(0, space), text.substr(space + 1));
        continue;
      }
    }
    return badInput(fmt::format("{}.merges[{}]: expected two tokens", where, i));
  }
  return merges;
}

Result<std::vector<std::pair<std::string, std::int32_t>>> readVocabulary(const FileJson& model,
                                                                         const std::string& where) {
  const auto vocab = model.find("vocab");
  if (vocab == model.end() || !vocab->is_object())
    return badInput(fmt::format("{}.vocab: expected an object of tokens and their ids", where));
  std::vector<std::pair<std::string, std::int32_t>> tokens;
  tokens.reserve(vocab->size());
  for (const auto& [token, id] : vocab->items()) {
    if (!id.is_number_integer() || id.get<std::int64_t>() < 0 || id.get<std::int64_t>() > INT32_MAX)
      return badInput(
          fmt::format("{}.vocab: the id of '{}' is {}, expected a whole number from 0", where, token, id.dump()));
    tokens.emplace_back(token, id.get<std::int32_t>());
  }
  return tokens;
}

Result<BpeOptions> readOptions(const FileJson& model, const std::string& where) {
  // The big lists are read elsewhere; what is left is small.
  Json rest = Json::object();
  for (const auto& [key, value] : model.items())
    if (key != "vocab" && key != "merges") rest[key] = Json(value);
  JsonReader reader(rest, where, "");
  const std::string type = reader.text("type", "BPE");
  if (type != "BPE") return badInput(fmt::format("{}: '{}' is not supported; the supported model is BPE", where, type));
  BpeOptions options;
  options.unknownToken = reader.text("unk_token", "");
  options.continuingPrefix = reader.text("continuing_subword_prefix", "");
  options.wordSuffix = reader.text("end_of_word_suffix", "");
  options.fuseUnknown = reader.boolean("fuse_unk", false);
  options.byteFallback = reader.boolean("byte_fallback", false);
  options.ignoreMerges = reader.boolean("ignore_merges", false);
  const double dropout = reader.number("dropout", 0, 0, 1);
  MILLRACE_CHECK(reader.finish());
  if (dropout != 0)
    return badInput(fmt::format("{}.dropout: is {}; BPE dropout is not supported, set it to null", where, dropout));
  return options;
}

Result<std::vector<AddedToken>> readAddedTokens(const FileJson& file, const std::string& source) {
  std::vector<AddedToken> tokens;
  const auto list = file.find("added_tokens");
  if (list == file.end() || list->is_null()) return tokens;
  if (!list->is_array()) return badInput(fmt::format("{}: added_tokens: expected a list", source));
  for (std::size_t i = 0; i < list->size(); ++i) {
    const Json entry = Json((*list)[i]);
    JsonReader reader(entry, source, fmt::format("added_tokens[{}].", i));
    AddedToken token;
    token.content = reader.text("content", "");
    token.id = static_cast<std::int32_t>(reader.integer("id", 0, 0, INT32_MAX));
    token.special = reader.boolean("special", false);
    token.singleWord = reader.boolean("single_word", false);
    token.lstrip = reader.boolean("lstrip", false);
    token.rstrip = reader.boolean("rstrip", false);
    token.normalized = reader.boolean("normalized", !token.special);
    MILLRACE_CHECK(reader.finish());
    if (!token.content.empty()) tokens.push_back(std::move(token));
  }
  std::stable_sort(tokens.begin(), tokens.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  return tokens;
}

/// Ids as Hugging Face gives them: the model's own where it has the token, else the first free one from the end of its
/// vocabulary on, which is what every sound file says too.
void numberAddedTokens(std::vector<AddedToken>& tokens, const BpeModel& model) {
  const auto modelSize = static_cast<std::int32_t>(model.size());
  std::int32_t largest = -1;
  TextMap<std::int32_t> known;
  for (AddedToken& token : tokens) {
    const auto inModel = model.idOf(token.content);
    const auto before = known.find(token.content);
    token.id = before != known.end() ? before->second
               : inModel             ? *inModel
                                     : (largest >= modelSize ? largest + 1 : modelSize);
    known.emplace(token.content, token.id);
    largest = std::max(largest, token.id);
  }
}

} // namespace

Result<Tokenizer> Tokenizer::load(FileSystem& files, const Path& path) {
  MILLRACE_TRY(const std::string text, readTextFile(files, path, fileLimit));
  return parse(text, path.string());
}

Result<Tokenizer> Tokenizer::parse(std::string_view json, const std::string& source) {
  MILLRACE_TRY(const FileJson file, parseFile(json, source));
  if (!file.is_object()) return badInput(fmt::format("{}: expected an object, as tokenizer.json files hold", source));
  const auto modelEntry = file.find("model");
  if (modelEntry == file.end() || !modelEntry->is_object())
    return badInput(fmt::format("{}: has no 'model' object; expected a Hugging Face tokenizer.json", source));
  for (const auto& [key, value] : file.items()) {
    static const std::vector<std::string> known = {"version",        "truncation", "padding",
                                                   "added_tokens",   "normalizer", "pre_tokenizer",
                                                   "post_processor", "decoder",    "model"};
    if (std::find(known.begin(), known.end(), key) == known.end())
      return badInput(fmt::format("{}: the key '{}' is not supported", source, key));
  }

  MILLRACE_TRY(auto normalizer, makeNormalizer(component(file, "normalizer"), source + ": normalizer"));
  MILLRACE_TRY(auto preTokenizer, makePreTokenizer(component(file, "pre_tokenizer"), source + ": pre_tokenizer"));
  MILLRACE_TRY(auto postProcessor, makePostProcessor(component(file, "post_processor"), source + ": post_processor"));
  MILLRACE_TRY(auto decoder, makeDecoder(component(file, "decoder"), source + ": decoder"));

  const std::string where = source + ": model";
  MILLRACE_TRY(BpeOptions options, readOptions(*modelEntry, where));
  options.onBytes = preTokenizer && preTokenizer->leaveBytes();
  MILLRACE_TRY(auto vocabulary, readVocabulary(*modelEntry, where));
  MILLRACE_TRY(const Merges merges, readMerges(*modelEntry, where));
  MILLRACE_TRY(BpeModel model, BpeModel::build(std::move(vocabulary), merges, std::move(options), where));
  MILLRACE_TRY(auto added, readAddedTokens(file, source));
  numberAddedTokens(added, model);

  auto impl = std::make_unique<Impl>(std::move(model));
  impl->normalizer = std::move(normalizer);
  impl->preTokenizer = std::move(preTokenizer);
  impl->postProcessor = std::move(postProcessor);
  impl->decoder = std::move(decoder);
  impl->byteLevelDecoder = impl->decoder && impl->decoder->isByteLevel();

  impl->tokens = impl->model.tokens();
  for (const AddedToken& token : added)
    impl->tokens.resize(std::max(impl->tokens.size(), static_cast<std::size_t>(token.id) + 1));
  impl->shown = impl->tokens;
  impl->present.resize(impl->tokens.size());
  impl->special.resize(impl->tokens.size());
  for (std::size_t id = 0; id < impl->model.tokens().size(); ++id)
    impl->present[id] = impl->model.idOf(impl->model.tokens()[id]) == static_cast<std::int32_t>(id);
  RegexScratch scratch;
  bool lineFeedInToken = false;
  for (const AddedToken& token : added) {
    const auto slot = static_cast<std::size_t>(token.id);
    impl->tokens[slot] = token.content;
    impl->present[slot] = true;
    impl->special[slot] = impl->special[slot] || token.special;
    impl->addedIds.insert_or_assign(token.content, token.id);
    NormalizedText pattern{token.content, true, token.content.size()};
    if (token.normalized && impl->normalizer) MILLRACE_CHECK(impl->normalizer->apply(pattern, scratch));
    impl->shown[slot] = pattern.text;
    (token.normalized ? impl->normalizedTokens : impl->rawTokens).add(token, pattern.text);
    lineFeedInToken = lineFeedInToken || pattern.text.find('\n') != std::string::npos || token.singleWord;
  }
  impl->added = std::move(added);
  // An id without an embedding would be read and trained beyond the table's end.
  if (const std::int32_t largest = impl->postProcessor ? impl->postProcessor->largestId() : -1;
      largest >= static_cast<std::int32_t>(impl->tokens.size()))
    return badInput(fmt::format("{}: post_processor: adds the id {}, but the tokens of the file have ids up to {}",
                                source, largest, impl->tokens.size() - 1));
  if (impl->byteLevelDecoder)
    for (const std::string& token : impl->shown) impl->bytes.push_back(byteLevelBytes(token).value_or(token));
  impl->worksByLine = !lineFeedInToken && (!impl->normalizer || impl->normalizer->worksByLine()) &&
                      impl->preTokenizer && impl->preTokenizer->lineCut() == LineCut::Cuts;
  Hasher128 hasher;
  hasher.update(json);
  impl->fingerprint = hasher.hex();
  return Tokenizer(std::move(impl));
}

} // namespace millrace
