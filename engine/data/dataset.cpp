#include "data/dataset.h"

#include "data/format_detection.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace millrace {

namespace {

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
  for (const double weight : spec.weights)
    if (!(weight > 0 && std::isfinite(weight)))
      return badInput(fmt::format("the weight of a source is {}, expected a number above 0", weight));
  if (spec.badRowLimit < 0)
    return badInput(fmt::format("the limit of bad rows is {}, expected 0 or more", spec.badRowLimit));
  return {};
}

std::int64_t validationShare(double validationFraction) {
  return std::llround(validationFraction * 10000);
}

Status checkContext(std::int64_t context) {
  constexpr std::int64_t longest = std::int64_t{1} << 24;
  if (context < 1 || context > longest)
    return badInput(fmt::format("the context length is {}, expected 1 to {}", context, longest));
  return {};
}

void tellCounts(Log& log, const CachedCounts& met) {
  const auto warn = [&](std::int64_t count, const char* what) {
    if (count > 0) log.warning("{} {}", formatCount(count), what);
  };
  warn(met.badRows, "unusable rows were skipped");
  warn(met.repairedSequences, "byte sequences were not UTF-8 and became U+FFFD");
  if (met.otherSets > 0) log.info("{} rows are of sets that were not asked for", formatCount(met.otherSets));
  warn(met.conversations.dropped, "conversations are longer than the context and were left out");
  warn(met.conversations.split, "conversations are longer than the context and were split between turns");
  warn(met.conversations.truncated, "conversations are longer than the context, so that their ends are missing");
  warn(met.conversations.nothingLearnt, "conversations were left out, since no token of them is learnt");
}

std::string hashOf(const std::string& text) {
  Hasher128 hasher;
  hasher.update(text);
  return hasher.hex();
}

} // namespace

Dataset::Dataset(Dataset&&) noexcept = default;
Dataset& Dataset::operator=(Dataset&&) noexcept = default;
Dataset::~Dataset() = default;

Result<Dataset> openDataset(FileSystem& files, ThreadPool& pool, Log& log, const DataSpec& spec,
                            const Tokenizer& tokenizer, const DataProgressCallback& progress) {
  MILLRACE_CHECK(checkSpec(spec));
  Dataset dataset;
  dataset.m_log = &log;
  dataset.m_validationFraction = spec.validationFraction;
  MILLRACE_TRY(dataset.m_endOfText, decideEndOfText(spec, tokenizer));
  const std::vector<std::int32_t> prefix = textPrefix(tokenizer);
  std::vector<SeriesTask> tasks;
  std::shared_ptr<const ConversationTokens> chat;
  std::string identity;
  for (std::size_t part = 0; part < std::max<std::size_t>(1, spec.weights.size()); ++part) {
    std::vector<SourcePattern> patterns;
    for (const SourcePattern& pattern : spec.sources)
      if (spec.weights.empty() || pattern.part == part) patterns.push_back(pattern);
    SeriesTask task;
    MILLRACE_TRY(task.sources, findSourceFiles(files, patterns, log));
    MILLRACE_CHECK(detectFormats(files, task.sources));
    if (std::any_of(task.sources.begin(), task.sources.end(),
                    [](const SourceFile& source) { return isConversation(source.how.format); })) {
      if (!chat) {
        MILLRACE_TRY(ConversationTokens made, ConversationTokens::create(files, spec.chat, tokenizer));
        chat = std::make_shared<const ConversationTokens>(std::move(made));
        dataset.m_turnEnd = chat->turnEnd();
        if (const auto marks = chat->marksWithoutToken(); !marks.empty())
          log.warning("{} writes {}, for which the tokenizer has no token: learnt as plain text. Add them to "
                      "added_tokens of tokenizer.json, or choose another template (data.chat)",
                      chat->chatTemplate().where(), fmt::join(marks, ", "));
      }
      task.chat = chat;
    }
    MILLRACE_TRY(task.identity, identifySources(files, task.sources, progress));
    task.badRowLimit = spec.badRowLimit;
    task.limits = spec.shards;
    task.endOfText = dataset.m_endOfText;
    const std::string key =
        hashOf(fmt::format("{} {} {} {} {} {} {} {}", task.identity.hash, tokenizer.fingerprint(), dataset.m_endOfText,
                           fmt::join(prefix, ","), spec.shards.tokens, spec.shards.documents, spec.shards.ranges,
                           task.chat ? task.chat->fingerprint() : ""));
    task.series = std::make_shared<ShardSeries>(files, spec.cacheDirectory / key, key, tokenizer.vocabularySize(),
                                                spec.validationFraction);
    dataset.m_series.push_back(task.series);
    identity += key + ' ';
    if (!spec.weights.empty()) identity += fmt::format("{} ", spec.weights[part]);
    tasks.push_back(std::move(task));
  }
  dataset.m_weights = spec.weights;
  dataset.m_fingerprint = hashOf(fmt::format("{}{}", identity, validationShare(spec.validationFraction)));

  auto tokenBytes = std::make_shared<std::vector<std::int32_t>>(static_cast<std::size_t>(tokenizer.vocabularySize()));
  for (std::size_t id = 0; id < tokenBytes->size(); ++id)
    (*tokenBytes)[id] = tokenizer.tokenBytes(static_cast<std::int32_t>(id));
  dataset.m_tokenBytes = std::move(tokenBytes);

  const auto hurried = [all = dataset.m_series] {
    return std::any_of(all.begin(), all.end(), [](const auto& series) { return series->awaited(); });
  };
  std::vector<std::unique_ptr<SeriesTokenizer>> tokenizers;
  for (SeriesTask& task : tasks)
    tokenizers.push_back(std::make_unique<SeriesTokenizer>(pool, log, tokenizer, std::move(task), hurried));
  dataset.m_feed = std::make_unique<DataFeed>(std::move(tokenizers), log);
  return dataset;
}

DatasetSummary Dataset::summary() const {
  DatasetSummary summary;
  summary.fingerprint = m_fingerprint;
  for (const auto& series : m_series) {
    const ShardFacts total = series->total();
    const CachedCounts counts = series->counts();
    summary.documents += total.documents;
    summary.validationDocuments += total.validationDocuments;
    summary.trainingTokens += total.trainingTokens;
    summary.validationTokens += total.validationTokens;
    summary.trainingTargets += total.trainingTargets;
    summary.textBytes += total.textBytes;
    summary.met += counts;
  }
  return summary;
}

void Dataset::setPaused(bool paused) {
  m_feed->setPaused(paused);
}

bool Dataset::complete() const {
  return std::all_of(m_series.begin(), m_series.end(), [](const auto& series) { return series->complete(); });
}

Status Dataset::failure() const {
  for (const auto& series : m_series) MILLRACE_CHECK(series->failure());
  return {};
}

Status Dataset::waitUntilComplete(const DataProgressCallback& progress) const {
  for (const auto& series : m_series) {
    MILLRACE_CHECK(series->waitUntilComplete(progress));
    if (series->total().trainingTokens == 0) return tl::unexpected<Error>(series->nothingToTrainOn());
  }
  const DatasetSummary all = summary();
  if (all.trainingTargets == 0)
    return badInput("no training data: none of the tokens is learnt from; check the data's format and masking");
  if (all.validationDocuments == 0 && m_validationFraction > 0)
    m_log->warning("none of the {} documents is held back for validation: there are too few different ones for a "
                   "fraction of {}",
                   formatCount(all.documents), m_validationFraction);
  tellCounts(*m_log, all.met);
  return {};
}

Result<Dataset> prepareDataset(FileSystem& files, ThreadPool& pool, Log& log, const DataSpec& spec,
                               const Tokenizer& tokenizer, const DataProgressCallback& progress) {
  MILLRACE_TRY(Dataset dataset, openDataset(files, pool, log, spec, tokenizer, progress));
  MILLRACE_CHECK(dataset.waitUntilComplete(progress));
  return dataset;
}

Result<std::unique_ptr<BatchSource>> Dataset::trainingSource(std::int64_t context, std::uint64_t seed) const {
  MILLRACE_CHECK(checkContext(context));
  if (m_weights.empty()) return std::make_unique<PackedSource>(m_series.front(), context, m_endOfText, seed);
  std::vector<std::unique_ptr<PackedSource>> sources;
  for (const auto& series : m_series)
    sources.push_back(std::make_unique<PackedSource>(series, context, m_endOfText, seed));
  return std::make_unique<MixedSource>(std::move(sources), m_weights);
}

Result<std::unique_ptr<ValidationReader>> Dataset::reader(std::int64_t context, DocumentChoice choice) const {
  MILLRACE_CHECK(checkContext(context));
  return std::make_unique<ValidationReader>(
      std::vector<std::shared_ptr<const ShardSeries>>(m_series.begin(), m_series.end()), choice, context, m_endOfText,
      m_tokenBytes);
}

Result<std::unique_ptr<ValidationReader>> Dataset::validationReader(std::int64_t context) const {
  return reader(context, DocumentChoice::Validation);
}

Result<std::unique_ptr<ValidationReader>> Dataset::wholeReader(std::int64_t context) const {
  return reader(context, DocumentChoice::All);
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
  PacedPool whole(pool);
  RecordBatches batches(files, whole, log, sources, {}, spec.badRowLimit);
  while (!trainer.full()) {
    MILLRACE_TRY(auto parts, batches.next());
    if (parts.empty()) break;
    std::vector<std::string> texts;
    // Of conversations what is said: the marks of a template are no text to learn words from.
    for (RecordBatches::Part& part : parts)
      texts.push_back(part.document.conversation ? part.document.conversation->contents()
                                                 : std::move(part.document.text));
    trainer.add(texts);
    now.done = batches.bytesRead();
    now.documents += static_cast<std::int64_t>(texts.size());
    if (reading && !reading(now)) return tl::unexpected<Error>(dataInterrupted().error());
  }
  if (now.documents == 0) return tl::unexpected<Error>(noDocuments(sources, batches.counts(), batches.otherSets()));
  return trainer.train(merging);
}

} // namespace millrace
