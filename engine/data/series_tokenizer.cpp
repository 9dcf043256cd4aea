#include "data/series_tokenizer.h"

#include "data/set_names.h"

#include <algorithm>
#include <fmt/format.h>

namespace millrace {

SeriesTokenizer::SeriesTokenizer(ThreadPool& pool, Log& log, const Tokenizer& tokenizer, SeriesTask task,
                                 std::function<bool()> hurried)
    : m_files(task.series->files()),
      m_pool(pool, std::move(hurried)),
      m_log(log),
      m_tokenizer(tokenizer),
      m_task(std::move(task)) {}

Result<bool> SeriesTokenizer::next(const std::function<bool()>& stop) {
  if (m_done) return false;
  const Path path = series().pathOf(m_index);
  std::shared_ptr<const TokenShard> shard;
  if (m_files.exists(path)) {
    MILLRACE_TRY(shard, existing(stop));
    if (shard) m_stream.reset(); // it stands before this shard
  }
  if (!shard) {
    if (const Status made = make(stop); !made) {
      m_stream.reset(); // it stands in the middle of what was not finished
      return tl::unexpected<Error>(made.error());
    }
    MILLRACE_TRY(shard, series().open(m_index));
  }
  const ShardPlace& place = shard->place();
  ++m_index;
  m_position = place.next;
  m_counts = place.counts;
  m_setNames = shard->setNames();
  m_documents += static_cast<std::int64_t>(shard->documents().size());
  m_tokens += shard->tokens();
  m_done = place.last;
  if (m_done) m_stream.reset(); // its memory is not needed any more
  series().add(*shard);
  return !m_done;
}

Result<std::shared_ptr<const TokenShard>> SeriesTokenizer::existing(const std::function<bool()>& stop) {
  const Path path = series().pathOf(m_index);
  Bytes done = 0;
  const auto checked = [&](Bytes bytes) -> Status {
    done += bytes;
    tell(DataProgress::Phase::Checking, done);
    return stop() ? dataInterrupted() : Status{};
  };
  auto shard = TokenShard::open(m_files, path, series().key(), series().vocabularySize(), ShardCheck::Whole, checked);
  if (!shard && shard.error().kind == ErrorKind::Interrupted) return shard;
  std::string problem;
  if (!shard)
    problem = shard.error().message;
  else if ((*shard)->place().index != m_index)
    problem = fmt::format("{}: is shard {}, expected {}", path.string(), (*shard)->place().index, m_index);
  else if ((*shard)->documents().empty() || (*shard)->setNames().size() < m_setNames.size())
    problem = fmt::format("{}: does not go on from the shard before", path.string());
  if (problem.empty()) return shard;
  m_log.warning("{}; the text is tokenized again", problem);
  return std::shared_ptr<const TokenShard>();
}

Status SeriesTokenizer::make(const std::function<bool()>& stop) {
  const Path path = series().pathOf(m_index);
  if (!m_stream)
    m_stream.emplace(m_files, m_pool, m_log, m_task.sources, m_task.badRowLimit, m_tokenizer, m_task.chat,
                     m_task.endOfText, m_position, m_counts);
  MILLRACE_CHECK(m_files.createDirectories(series().folder()));
  MILLRACE_TRY(TokenShardWriter writer,
               TokenShardWriter::create(m_files, path, series().key(), series().vocabularySize()));
  ShardPlace place;
  place.index = m_index;
  SetNames sets(m_setNames);
  for (;;) {
    if (stop()) return dataInterrupted();
    MILLRACE_TRY(const TokenPiece* piece, m_stream->peek());
    tell(DataProgress::Phase::Tokenizing, m_stream->records().bytesRead());
    place.last = piece == nullptr;
    if (place.last || (piece->first && piece->beginsRecord && writer.full(m_task.limits))) break;
    MILLRACE_CHECK(writer.append(piece->ids));
    if (piece->last) {
      DocumentFacts facts = piece->facts;
      facts.set = sets.indexOf(piece->set);
      writer.endDocument(facts);
    }
    place.next = piece->next;
    place.counts = piece->counts;
    m_stream->pop();
  }
  if (place.last) {
    place.counts = m_stream->counts();
    place.next = {m_task.sources.size(), 0};
  }
  if (writer.documents() == 0)
    return tl::unexpected<Error>(noDocuments(m_task.sources, place.counts, m_stream->records().otherSets()));
  MILLRACE_CHECK(checkSources(std::min<std::size_t>(place.next.file, m_task.sources.size() - 1)));
  MILLRACE_CHECK(writer.finish(place, sets.names()));
  m_made.push_back(path);
  return {};
}

Status SeriesTokenizer::checkSources(std::size_t last) {
  const std::vector<FileIdentity>& known = m_task.identity.files;
  for (std::size_t i = std::min<std::size_t>(m_position.file, last); i <= last; ++i)
    MILLRACE_CHECK(checkUnchanged(m_files, m_task.sources[i], known[i]));
  for (std::size_t i = m_checkedFiles; i < known.size(); ++i) {
    const auto hash = m_stream->records().hashOf(i);
    if (!hash || known[i].hash.empty()) continue;
    if (*hash != known[i].hash) {
      for (const Path& path : m_made) (void)m_files.remove(path); // they may hold what the file held for a while
      return tl::unexpected<Error>(changedMeanwhile(m_task.sources[i]));
    }
    m_checkedFiles = i + 1;
  }
  return {};
}

void SeriesTokenizer::tell(DataProgress::Phase phase, Bytes done) {
  series().setProgress({phase, done, m_task.identity.bytes, m_documents, m_tokens});
}

} // namespace millrace
