#include "data/dataset.h"

#include "data/format_detection.h"
#include "data/tokenize_sources.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>

namespace millrace {

namespace {

// What the contents of a cache depend on besides sources and tokenizer: how records are cut and cleaned.
constexpr std::string_view readingVersion = "millrace tokens 2";

Status interrupted() {
  return failure(ErrorKind::Interrupted, "the preparation of the data was stopped");
}

struct SourceHashes {
  std::vector<std::string> files; ///< XXH3-128 of each
  std::string all;                ///< of all of them with how they are read; names play no part
  Bytes bytes = 0;
};

Result<SourceHashes> hashSources(FileSystem& files, const std::vector<SourceFile>& sources,
                                 const DataProgressCallback& progress) {
  DataProgress now;
  MILLRACE_TRY(now.total, bytesOf(files, sources));
  const auto seen = [&](Bytes bytes) -> Status {
    now.done += bytes;
    return progress && !progress(now) ? interrupted() : Status{};
  };
  SourceHashes hashes;
  hashes.bytes = now.total;
  Hasher128 all;
  all.update(readingVersion);
  for (const SourceFile& source : sources) {
    MILLRACE_TRY(const std::string hash, hashFile(files, source.path, seen));
    all.update(fmt::format("\n{} {}", hash, fingerprintOf(source)));
    hashes.files.push_back(hash);
  }
  hashes.all = all.hex();
  return hashes;
}

/// Null where no source holds conversations.
Result<std::shared_ptr<const ConversationTokens>> conversationTokens(FileSystem& files, const DataSpec& spec,
                                                                     const std::vector<SourceFile>& sources,
                                                                     const Tokenizer& tokenizer) {
  if (std::none_of(sources.begin(), sources.end(),
                   [](const SourceFile& source) { return isConversation(source.how.format); }))
    return nullptr;
  MILLRACE_TRY(ConversationTokens chat, ConversationTokens::create(files, spec.chat, tokenizer));
  return std::make_shared<const ConversationTokens>(std::move(chat));
}

Result<std::int32_t> decideEndOfText(const DataSpec& spec, const Tokenizer& tokenizer) {
  const auto id = spec.endOfText ? spec.endOfText : tokenizer.endOfText();
  if (!id)
    return badInput("the tokenizer has no end-of-text token under a customary name; say which token ends a document");
  if (*id < 0 || *id >= tokenizer.vocabularySize())
    return badInput(fmt::format("the end-of-text token has the id {}, the tokenizer has {} tokens", *id,
                                tokenizer.vocabularySize()));
  return *id;
}

Status checkSpec(const DataSpec& spec) {
  if (!(spec.validationFraction >= 0 && spec.validationFraction < 1))
    return badInput(
        fmt::format("the validation fraction is {}, expected 0 or more and less than 1", spec.validationFraction));
  if (spec.badRowLimit < 0)
    return badInput(fmt::format("the limit of bad rows is {}, expected 0 or more", spec.badRowLimit));
  return {};
}

std::int64_t validationShare(double validationFraction) {
  return std::llround(validationFraction * 10000);
}

void tellCounts(Log& log, const CachedCounts& met, const ChatSpec& chat) {
  const auto warn = [&](std::int64_t count, const char* what) {
    if (count > 0) log.warning("{} {}", formatCount(count), what);
  };
  warn(met.badRows, "unusable rows were skipped");
  warn(met.repairedSequences, "byte sequences were not UTF-8 and became U+FFFD");
  if (met.otherSets > 0) log.info("{} rows are of sets that were not asked for", formatCount(met.otherSets));
  const std::string longer = fmt::format("conversations are longer than the context of {} tokens", chat.context);
  warn(met.conversations.dropped, fmt::format("{} and were left out", longer).c_str());
  warn(met.conversations.split, fmt::format("{} and were split between turns", longer).c_str());
  warn(met.conversations.truncated, fmt::format("{}, so that their ends are missing", longer).c_str());
  warn(met.conversations.nothingLearnt, "conversations were left out, since no token of them is learnt");
}

} // namespace

bool isValidationDocument(std::uint64_t hash, double validationFraction) {
  return static_cast<std::int64_t>(hash % 10000) < validationShare(validationFraction);
}

Result<Dataset> prepareDataset(FileSystem& files, ThreadPool& pool, Log& log, const DataSpec& spec,
                               const Tokenizer& tokenizer, const DataProgressCallback& progress) {
  MILLRACE_CHECK(checkSpec(spec));
  Dataset dataset;
  MILLRACE_TRY(dataset.m_endOfText, decideEndOfText(spec, tokenizer));
  MILLRACE_TRY(auto sources, findSourceFiles(files, spec.sources, log));
  MILLRACE_CHECK(detectFormats(files, sources));
  MILLRACE_TRY(const auto chat, conversationTokens(files, spec, sources, tokenizer));
  MILLRACE_TRY(const SourceHashes hashes, hashSources(files, sources, progress));

  Hasher128 keyed;
  keyed.update(fmt::format("{} {} {} {}", hashes.all, tokenizer.fingerprint(), dataset.m_endOfText,
                           chat ? chat->fingerprint() : ""));
  const std::string key = keyed.hex();
  const Path path = spec.cacheDirectory / (key + ".tokens");
  DataProgress checking;
  const auto checked = [&](Bytes bytes) -> Status {
    checking.done += bytes;
    checking.total = checking.done;
    return progress && !progress(checking) ? interrupted() : Status{};
  };
  if (files.exists(path)) {
    auto cache = TokenShard::open(files, path, key, tokenizer.vocabularySize(), checked);
    if (!cache && cache.error().kind == ErrorKind::Interrupted) return tl::unexpected<Error>(cache.error());
    if (cache)
      dataset.m_cache = std::move(*cache);
    else
      log.warning("{}; the text is tokenized again", cache.error().message);
  }
  dataset.m_summary.fromCache = dataset.m_cache != nullptr;
  if (!dataset.m_cache) {
    MILLRACE_CHECK(files.createDirectories(spec.cacheDirectory));
    {
      MILLRACE_TRY(TokenShardWriter writer, TokenShardWriter::create(files, path, key, tokenizer.vocabularySize()));
      MILLRACE_CHECK(tokenizeSources(files, pool, log, sources, hashes.files, spec.badRowLimit, tokenizer, chat,
                                     dataset.m_endOfText, progress, hashes.bytes, writer));
    }
    MILLRACE_TRY(dataset.m_cache, TokenShard::open(files, path, key, tokenizer.vocabularySize(), checked));
  }

  const TokenShard& cache = *dataset.m_cache;
  DatasetSummary& summary = dataset.m_summary;
  for (std::size_t i = 0; i < cache.documents().size(); ++i) {
    const bool heldBack = isValidationDocument(cache.documents()[i].hash, spec.validationFraction);
    (heldBack ? dataset.m_validation : dataset.m_training).push_back(i);
    (heldBack ? summary.validationTokens : summary.trainingTokens) += cache.length(i);
    summary.textBytes += static_cast<std::int64_t>(cache.documents()[i].textBytes);
  }
  summary.documents = static_cast<std::int64_t>(cache.documents().size());
  summary.validationDocuments = static_cast<std::int64_t>(dataset.m_validation.size());
  summary.met = cache.place().counts;
  Hasher128 fingerprint;
  fingerprint.update(fmt::format("{} {}", key, validationShare(spec.validationFraction)));
  summary.fingerprint = fingerprint.hex();
  if (dataset.m_training.empty())
    return badInput(fmt::format("no training data: all of the {} documents are held back for validation; lower the "
                                "validation fraction ({}) or add documents",
                                summary.documents, spec.validationFraction));
  if (dataset.m_validation.empty() && spec.validationFraction > 0)
    log.warning("none of the {} documents is held back for validation: there are too few for a fraction of {}",
                formatCount(summary.documents), spec.validationFraction);
  tellCounts(log, summary.met, spec.chat);

  auto tokenBytes = std::make_shared<std::vector<std::int32_t>>(static_cast<std::size_t>(tokenizer.vocabularySize()));
  for (std::size_t id = 0; id < tokenBytes->size(); ++id)
    (*tokenBytes)[id] = tokenizer.tokenBytes(static_cast<std::int32_t>(id));
  dataset.m_tokenBytes = std::move(tokenBytes);
  return dataset;
}

namespace {
Status checkContext(std::int64_t context) {
  constexpr std::int64_t longest = std::int64_t{1} << 24;
  if (context < 1 || context > longest)
    return badInput(fmt::format("the context length is {}, expected 1 to {}", context, longest));
  return {};
}
} // namespace

Result<std::unique_ptr<BatchSource>> Dataset::trainingSource(std::int64_t context, std::uint64_t seed) const {
  MILLRACE_CHECK(checkContext(context));
  return std::make_unique<PackedSource>(PackedRows(m_cache, m_training, context, m_endOfText, PackedRows::Tail::Drop),
                                        seed);
}

Result<std::unique_ptr<ValidationReader>> Dataset::validationReader(std::int64_t context) const {
  MILLRACE_CHECK(checkContext(context));
  return std::make_unique<ValidationReader>(
      PackedRows(m_cache, m_validation, context, m_endOfText, PackedRows::Tail::Pad), m_tokenBytes);
}

Result<std::unique_ptr<ValidationReader>> Dataset::wholeReader(std::int64_t context) const {
  MILLRACE_CHECK(checkContext(context));
  std::vector<std::uint64_t> all(m_cache->documents().size());
  std::iota(all.begin(), all.end(), std::uint64_t{0});
  return std::make_unique<ValidationReader>(
      PackedRows(m_cache, std::move(all), context, m_endOfText, PackedRows::Tail::Pad), m_tokenBytes);
}

Result<std::string> trainTokenizer(FileSystem& files, ThreadPool& pool, Log& log, const DataSpec& spec,
                                   const BpeTrainerOptions& options, const DataProgressCallback& reading,
                                   const BpeTrainer::Progress& merging) {
  MILLRACE_CHECK(checkSpec(spec));
  MILLRACE_TRY(BpeTrainer trainer, BpeTrainer::create(pool, options));
  MILLRACE_TRY(auto sources, findSourceFiles(files, spec.sources, log));
  MILLRACE_CHECK(detectFormats(files, sources));
  DataProgress now{DataProgress::Phase::Tokenizing};
  MILLRACE_TRY(now.total, bytesOf(files, sources));
  RecordBatches batches(files, pool, log, sources, {}, spec.badRowLimit);
  while (!trainer.full()) {
    MILLRACE_TRY(auto parts, batches.next());
    if (parts.empty()) break;
    std::vector<std::string> texts;
    // Of conversations what is said: the marks of a template are no text to learn words from.
    for (SourceDocument& part : parts)
      texts.push_back(part.conversation ? part.conversation->contents() : std::move(part.text));
    trainer.add(texts);
    now.done = batches.reader().bytesRead();
    now.documents += static_cast<std::int64_t>(texts.size());
    if (reading && !reading(now)) return tl::unexpected<Error>(interrupted().error());
  }
  return trainer.train(merging);
}

} // namespace millrace
