#include "engine/data_inspect.h"

#include "data/document_tokens.h"
#include "data/format_detection.h"
#include "data/row_judge.h"
#include "run/run_preparation.h"
#include "text/bpe_trainer.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <map>

namespace millrace {

namespace {

constexpr std::size_t mostFiles = 20;
constexpr std::size_t mostUnusable = 10;
constexpr int mostParts = 64;                  ///< of long texts that are passed over
constexpr std::int64_t smallVocabulary = 4096; ///< of a tokenizer that is trained to look with

class Inspector {
 public:
  Inspector(FileSystem& files, const Project& project, const DataInspectOptions& options)
      : m_files(files), m_project(project), m_options(options), m_spec(dataSpecOf(project)) {}

  Result<DataInspection> run() {
    Log log; // what is passed over is told by the run
    MILLRACE_TRY(m_sources, findSourceFiles(m_files, m_spec.sources, log));
    m_found.filesInAll = static_cast<std::int64_t>(m_sources.size());
    m_found.context = m_spec.chat.context;
    m_sources.resize(std::min(m_sources.size(), mostFiles));
    const auto share = static_cast<std::int64_t>(m_sources.size());
    for (std::size_t i = 0; i < m_sources.size(); ++i)
      MILLRACE_CHECK(readFile(i, std::max<std::int64_t>(1, m_options.rows / share)));
    MILLRACE_TRY(const Tokenizer tokenizer, openTokenizer());
    std::shared_ptr<const ConversationTokens> chat;
    if (std::any_of(m_documents.begin(), m_documents.end(),
                    [](const auto& document) { return document.conversation; })) {
      MILLRACE_TRY(ConversationTokens made, ConversationTokens::create(m_files, m_spec.chat, tokenizer));
      m_found.chatTemplate = made.chatTemplate().where();
      m_found.marksWithoutToken = made.marksWithoutToken();
      chat = std::make_shared<const ConversationTokens>(std::move(made));
    }
    MILLRACE_CHECK(tokenize(tokenizer, std::move(chat)));
    return std::move(m_found);
  }

 private:
  Status readFile(std::size_t index, std::int64_t rows) {
    SourceFile& source = m_sources[index];
    InspectedFile file;
    file.path = source.path;
    file.why = source.layout == RecordLayout::Text ? "its name, or the format that was asked for"
                                                   : "the format that was asked for";
    if (source.how.format == DataFormat::Auto) {
      MILLRACE_TRY(DetectedFormat detected, detectFormat(m_files, source));
      source.how.format = detected.format;
      file.why = std::move(detected.why);
    }
    file.format = source.how.format;
    const std::vector<SourceFile> alone{source};
    Log log;
    RowJudge judge(alone, std::numeric_limits<std::int64_t>::max(), log);
    RecordReader reader(m_files, alone);
    RawRecord record;
    Status usable;
    for (int parts = 0; usable && file.rows < rows && parts < mostParts;) {
      MILLRACE_TRY(const bool got, reader.next(record));
      if (!got) break;
      const std::int64_t line = record.line;
      const bool last = record.last;
      if (!record.first) { // of a long text its beginning
        ++parts;
        continue;
      }
      ++file.rows;
      DecodedRecord decoded = decodeRecord(source, std::move(record));
      usable = judge.judge(0, line, decoded);
      take(source, line, last, std::move(decoded));
    }
    if (usable) usable = judge.finish();
    if (!usable) file.problem = usable.error().message;
    m_found.rows += file.rows;
    m_found.otherSets += judge.ofOtherSets();
    m_found.files.push_back(std::move(file));
    return {};
  }

  void take(const SourceFile& source, std::int64_t line, bool last, DecodedRecord decoded) {
    m_found.repairedSequences += decoded.repaired;
    switch (decoded.kind) {
    case DecodedRecord::Kind::Document:
      m_documents.push_back({std::move(decoded.text), std::move(decoded.conversation), std::move(decoded.set),
                             m_found.files.size(), line, true, last});
      break;
    case DecodedRecord::Kind::Empty:
      ++m_found.emptyRows;
      break;
    case DecodedRecord::Kind::Bad:
    case DecodedRecord::Kind::NoField:
      refuse(source.path, line, decoded.problem);
      break;
    case DecodedRecord::Kind::OtherSet:
      break;
    }
  }

  void refuse(const Path& file, std::int64_t line, const std::string& problem) {
    ++m_found.badRows;
    if (m_found.unusable.size() < mostUnusable) m_found.unusable.push_back({file, line, problem});
  }

  Result<Tokenizer> openTokenizer() {
    Path path;
    if (const auto* file = std::get_if<TokenizerFile>(&m_project.tokenizer)) path = file->file;
    if (std::holds_alternative<TokenizerOfModel>(m_project.tokenizer)) {
      const auto* model = std::get_if<ModelFolder>(&m_project.model);
      if (!model || model->folder.empty())
        return badInput("there is no tokenizer to look at the data with: name one, or the folder of a model");
      path = model->folder / "tokenizer.json";
    }
    if (!path.empty()) {
      m_found.tokenizer = path.string();
      return Tokenizer::load(m_files, path);
    }
    m_found.tokenizer = "trained on these rows alone; the run's is trained on more of the data";
    ThreadPool pool(1);
    BpeTrainerOptions options;
    options.vocabularySize = std::min(std::get<TokenizerTraining>(m_project.tokenizer).vocabulary, smallVocabulary);
    MILLRACE_TRY(BpeTrainer trainer, BpeTrainer::create(pool, options));
    std::vector<std::string> texts{" "}; // there may be no document
    for (const SourceDocument& document : m_documents)
      texts.push_back(document.conversation ? document.conversation->contents() : document.text);
    trainer.add(texts);
    MILLRACE_TRY(const std::string json, trainer.train());
    return Tokenizer::parse(json, "the tokenizer of these rows");
  }

  Status tokenize(const Tokenizer& tokenizer, std::shared_ptr<const ConversationTokens> chat) {
    const DocumentTokens tokens(tokenizer, std::move(chat));
    const auto endOfText = tokenizer.endOfText();
    std::map<std::string, std::int64_t> sets;
    for (const SourceDocument& document : m_documents) {
      MILLRACE_TRY(const TokenizedRecord record, tokens.tokenize(document));
      m_found.truncated += record.counts.truncated;
      m_found.split += record.counts.split;
      m_found.dropped += record.counts.dropped;
      m_found.nothingLearnt += record.counts.nothingLearnt;
      const Path& file = m_found.files[document.file].path;
      if (!record.problem.empty()) refuse(file, document.line, record.problem);
      for (const TokenizedDocument& tokenized : record.documents) {
        std::vector<std::int32_t> ids = tokenized.ids;
        if (!record.complete && document.last && endOfText) ids.push_back(*endOfText);
        ++m_found.documents;
        ++sets[document.set];
        add(tokenizer, ids, tokenized.facts, {file, document.line, document.set, {}});
      }
    }
    for (const auto& [name, count] : sets) m_found.sets.push_back({name, count});
    return {};
  }

  void add(const Tokenizer& tokenizer, const std::vector<std::int32_t>& ids, const DocumentFacts& facts,
           InspectedExample example) {
    // The first token of a document is no target.
    std::vector<bool> learnt(ids.size(), facts.wholeLearnt);
    for (const TokenRange& range : facts.learnt)
      std::fill(learnt.begin() + range.begin, learnt.begin() + range.end, true);
    if (!learnt.empty()) learnt[0] = false;
    example.tokensInAll = static_cast<std::int64_t>(ids.size());
    example.learnt = std::count(learnt.begin(), learnt.end(), true);
    m_found.tokens += example.tokensInAll;
    m_found.learntTokens += example.learnt;
    if (m_found.examples.size() >= m_options.examples) return;
    for (std::size_t i = 0; i < std::min(ids.size(), m_options.tokensOfExample); ++i)
      example.tokens.push_back({ids[i], tokenizer.decode(std::span(ids).subspan(i, 1), false), learnt[i]});
    m_found.examples.push_back(std::move(example));
  }

  FileSystem& m_files;
  const Project& m_project;
  const DataInspectOptions& m_options;
  DataSpec m_spec;
  std::vector<SourceFile> m_sources;
  std::vector<SourceDocument> m_documents;
  DataInspection m_found;
};

} // namespace

Result<DataInspection> inspectData(FileSystem& files, const Project& project, const DataInspectOptions& options) {
  if (options.rows < 1) return badInput(fmt::format("{} rows are to be looked at, expected 1 or more", options.rows));
  return Inspector(files, project, options).run();
}

} // namespace millrace
