#include "storage/model_reader.h"

#include "storage/float_conversion.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <fmt/format.h>
#include <set>
#include <utility>

namespace millrace {

namespace {

constexpr std::size_t maximumListed = 500; ///< names of one kind in a message
constexpr std::string_view headName = "lm_head.weight";

std::vector<std::int64_t> dims(const Shape& shape) {
  std::vector<std::int64_t> result;
  for (int i = 0; i < shape.rank(); ++i) result.push_back(shape[i]);
  return result;
}

bool allDigits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// Constants that older versions of transformers saved beside the parameters.
bool isBuffer(std::string_view name, ModelFamily family) {
  if (family != ModelFamily::Gpt2) return name.ends_with("rotary_emb.inv_freq");
  if (name.starts_with("transformer.")) name.remove_prefix(std::string_view("transformer.").size());
  if (!name.starts_with("h.")) return false;
  name.remove_prefix(2);
  const auto dot = name.find('.');
  if (dot == std::string_view::npos || !allDigits(name.substr(0, dot))) return false;
  const std::string_view rest = name.substr(dot);
  return rest == ".attn.bias" || rest == ".attn.masked_bias";
}

void addList(std::string& message, const char* title, const std::vector<std::string>& items) {
  if (items.empty()) return;
  const std::size_t shown = std::min(items.size(), maximumListed);
  message += fmt::format("\n  {} ({}): {}", title, items.size(),
                         fmt::join(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  if (shown < items.size()) message += fmt::format(" and {} more", items.size() - shown);
}

} // namespace

Result<ModelReader> ModelReader::open(FileSystem& files, const Path& path, const ModelSpec& spec) {
  MILLRACE_TRY(SafetensorsReader file, SafetensorsReader::open(files, path));
  ModelReader reader(std::move(file));
  MILLRACE_CHECK(reader.match(spec, path.string()));
  return reader;
}

Status ModelReader::match(const ModelSpec& spec, const std::string& source) {
  std::vector<std::string> missing, wrongShape, wrongType, unexpected, twice;
  std::set<const StoredTensor*> used;
  const std::vector<BlockSpec> blocks = blocksOf(spec);
  for (const BlockSpec& block : blocks) {
    for (const ParameterSpec& parameter : block.parameters) {
      const StoredTensor* found = nullptr;
      for (const std::string& name : checkpointNames(parameter.name)) {
        const StoredTensor* candidate = m_file.find(name);
        if (candidate && found) twice.push_back(fmt::format("{} and {}", found->name, candidate->name));
        if (!found) found = candidate;
      }
      if (!found && spec.tiedEmbeddings && block.kind == BlockKind::Embedding)
        found = m_file.find(std::string(headName));
      if (!found) {
        missing.push_back(parameter.name);
        continue;
      }
      used.insert(found);
      m_stored.emplace(parameter.name, found);
      if (found->shape != dims(parameter.shape))
        wrongShape.push_back(
            fmt::format("{} is {}, expected {}", found->name, shapeText(found->shape), parameter.shape.toString()));
      else if (!isFloatType(found->type))
        wrongType.push_back(fmt::format("{} is {}", found->name, toString(found->type)));
    }
  }
  const StoredTensor* tiedHead = nullptr;
  for (const StoredTensor& tensor : m_file.tensors()) {
    if (used.count(&tensor) || isBuffer(tensor.name, spec.family)) continue;
    if (spec.tiedEmbeddings && tensor.name == headName)
      tiedHead = &tensor;
    else
      unexpected.push_back(tensor.name);
  }
  std::string message;
  addList(message, "missing", missing);
  addList(message, "unexpected", unexpected);
  addList(message, "of another shape", wrongShape);
  addList(message, "not floating-point numbers", wrongType);
  addList(message, "there under two names", twice);
  if (!message.empty())
    return badInput(fmt::format("{}: the tensors are not those of the model that config.json describes; use weights "
                                "and config of one model{}",
                                source, message));
  if (tiedHead) return checkTied(*m_stored.at(blocks.front().parameters.front().name), *tiedHead);
  return {};
}

Status ModelReader::checkTied(const StoredTensor& embedding, const StoredTensor& head) const {
  const std::string advice = "set tie_word_embeddings to false to keep both, or remove lm_head.weight";
  if (head.shape != embedding.shape || !isFloatType(head.type))
    return badInput(fmt::format("{}: the config ties lm_head.weight to the embedding, but it is {} {} and {} is {}; {}",
                                m_file.path(head).string(), toString(head.type), shapeText(head.shape), embedding.name,
                                shapeText(embedding.shape), advice));
  constexpr std::int64_t piece = 256 * 1024;
  std::vector<float> a(static_cast<std::size_t>(std::min(piece, head.elements()))), b(a.size());
  for (std::int64_t first = 0; first < head.elements(); first += piece) {
    const auto count = static_cast<std::size_t>(std::min(piece, head.elements() - first));
    MILLRACE_CHECK(m_file.readFloats(embedding, first, std::span(a).first(count)));
    MILLRACE_CHECK(m_file.readFloats(head, first, std::span(b).first(count)));
    if (std::memcmp(a.data(), b.data(), count * sizeof(float)) != 0)
      return badInput(fmt::format("{}: the config ties lm_head.weight to the embedding, but their values differ; {}",
                                  m_file.path(head).string(), advice));
  }
  return {};
}

const StoredTensor& ModelReader::stored(const ParameterSpec& parameter) const {
  const auto entry = m_stored.find(parameter.name);
  assert(entry != m_stored.end());
  return *entry->second;
}

Status ModelReader::read(const ParameterSpec& parameter, std::int64_t first, std::span<float> destination) const {
  return m_file.readFloats(stored(parameter), first, destination);
}

Status ModelReader::readBlock(const BlockSpec& block, std::int64_t first, std::span<float> destination) const {
  std::fill(destination.begin(), destination.end(), 0.0f);
  for (const BlockPiece& piece : piecesOf(block, first, static_cast<std::int64_t>(destination.size())))
    MILLRACE_CHECK(
        read(*piece.parameter, piece.first,
             destination.subspan(static_cast<std::size_t>(piece.at), static_cast<std::size_t>(piece.count))));
  return {};
}

} // namespace millrace
