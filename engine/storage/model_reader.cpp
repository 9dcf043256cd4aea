#include "storage/model_reader.h"

#include "storage/float_conversion.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
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

/// Tensors of the files, matched with the parameters of a spec.
struct Match {
  std::map<std::string, const StoredTensor*, std::less<>> stored; ///< by parameter name
  const StoredTensor* tiedHead = nullptr; ///< lm_head.weight beside an embedding that it is tied to
  TensorProblems problems;
};

bool isTable(const BlockSpec& block) {
  return block.kind == BlockKind::Embedding || block.kind == BlockKind::Head;
}

Match matchTensors(const SafetensorsReader& file, const std::vector<BlockSpec>& blocks, const ModelSpec& spec,
                   const ModelReadOptions& options) {
  Match match;
  TensorProblems& problems = match.problems;
  std::set<const StoredTensor*> used;
  for (const BlockSpec& block : blocks) {
    for (const ParameterSpec& parameter : block.parameters) {
      const StoredTensor* found = nullptr;
      for (const std::string& name : checkpointNames(parameter.name)) {
        const StoredTensor* candidate = file.find(name);
        if (candidate && found) problems.twice.push_back(fmt::format("{} and {}", found->name, candidate->name));
        if (candidate) used.insert(candidate);
        if (!found) found = candidate;
      }
      if (!found && spec.tiedEmbeddings && block.kind == BlockKind::Embedding) found = file.find(std::string(headName));
      if (!found) {
        problems.missing.push_back(parameter.name);
        continue;
      }
      used.insert(found);
      match.stored.emplace(parameter.name, found);
      std::vector<std::int64_t> expected = dims(parameter.shape);
      if (options.storedVocabulary > 0 && isTable(block)) expected.front() = options.storedVocabulary;
      if (found->shape != expected)
        problems.wrongShape.push_back(
            fmt::format("{} is {}, expected {}", found->name, shapeText(found->shape), shapeText(expected)));
      else if (!isFloatType(found->type))
        problems.notFloats.push_back(fmt::format("{} is {}", found->name, toString(found->type)));
    }
  }
  for (const StoredTensor& tensor : file.tensors()) {
    if (used.count(&tensor) || isBuffer(tensor.name, spec.family)) continue;
    if (spec.tiedEmbeddings && tensor.name == headName)
      match.tiedHead = &tensor;
    else
      problems.unexpected.push_back(tensor.name);
  }
  return match;
}

} // namespace

Result<ModelReader> ModelReader::open(FileSystem& files, const Path& path, const ModelSpec& spec,
                                      const ModelReadOptions& options) {
  MILLRACE_TRY(SafetensorsReader file, SafetensorsReader::open(files, path));
  ModelReader reader(std::move(file));
  const std::vector<BlockSpec> blocks = blocksOf(spec);
  Match match = matchTensors(reader.m_file, blocks, spec, options);
  const TensorProblems& problems = match.problems;
  std::string message;
  addList(message, "missing", problems.missing);
  addList(message, "unexpected", problems.unexpected);
  addList(message, "of another shape", problems.wrongShape);
  addList(message, "not floating-point numbers", problems.notFloats);
  addList(message, "there under two names", problems.twice);
  if (!message.empty())
    return badInput(fmt::format("{}: the tensors are not those of the model that config.json describes; use weights "
                                "and config of one model{}",
                                path.string(), message));
  reader.m_stored = std::move(match.stored);
  if (match.tiedHead)
    MILLRACE_CHECK(reader.checkTied(*reader.m_stored.at(blocks.front().parameters.front().name), *match.tiedHead));
  if (options.storedVocabulary > 0 && options.storedVocabulary < spec.vocabulary)
    for (const BlockSpec& block : blocks)
      if (isTable(block)) MILLRACE_CHECK(reader.takeMean(block.parameters.front()));
  return reader;
}

TensorProblems compareTensors(const SafetensorsReader& file, const ModelSpec& spec, const ModelReadOptions& options) {
  return matchTensors(file, blocksOf(spec), spec, options).problems;
}

/// Summed in double, row after row, so that the mean of many rows is that of all of them and the same everywhere.
Status ModelReader::takeMean(const ParameterSpec& table) {
  const StoredTensor& tensor = stored(table);
  const std::int64_t width = table.shape[1];
  const std::int64_t rows = tensor.elements() / width;
  const std::int64_t atOnce = std::max<std::int64_t>(1, 256 * 1024 / width);
  std::vector<double> sums(static_cast<std::size_t>(width), 0.0);
  std::vector<float> piece;
  for (std::int64_t row = 0; row < rows; row += atOnce) {
    piece.resize(static_cast<std::size_t>(std::min(atOnce, rows - row) * width));
    MILLRACE_CHECK(m_file.readFloats(tensor, row * width, piece));
    for (std::size_t i = 0; i < piece.size(); ++i) sums[i % sums.size()] += static_cast<double>(piece[i]);
  }
  std::vector<float>& mean = m_means[table.name];
  for (const double sum : sums)
    mean.push_back(static_cast<float>(sum / static_cast<double>(std::max<std::int64_t>(rows, 1))));
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
  const StoredTensor& tensor = stored(parameter);
  const auto mean = m_means.find(parameter.name);
  if (mean == m_means.end()) {
    MILLRACE_CHECK(m_file.readFloats(tensor, first, destination));
    return checkFinite(tensor, first, destination);
  }
  const auto there = static_cast<std::size_t>(
      std::clamp<std::int64_t>(tensor.elements() - first, 0, static_cast<std::int64_t>(destination.size())));
  if (there > 0) {
    MILLRACE_CHECK(m_file.readFloats(tensor, first, destination.first(there)));
    MILLRACE_CHECK(checkFinite(tensor, first, destination.first(there)));
  }
  for (std::size_t i = there; i < destination.size(); ++i)
    destination[i] = mean->second[(static_cast<std::size_t>(first) + i) % mean->second.size()];
  return {};
}

Status ModelReader::checkFinite(const StoredTensor& tensor, std::int64_t first, std::span<const float> values) const {
  constexpr std::uint32_t exponent = 0x7f800000;
  bool finite = true; // without a branch, so that it costs next to nothing beside the reading
  for (const float value : values) finite &= (std::bit_cast<std::uint32_t>(value) & exponent) != exponent;
  if (finite) return {};
  const auto bad = std::find_if(values.begin(), values.end(), [](float value) { return !std::isfinite(value); });
  return badInput(fmt::format("{}: {}: element {} is {}: weights that are not finite come of training that went wrong "
                              "or of a damaged file, and nothing can be computed with them",
                              m_file.path(tensor).string(), tensor.name, first + (bad - values.begin()), *bad));
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
