#include "data/data_feed.h"

#include <chrono>

namespace millrace {

namespace {
/// How long a full disk is waited for between looks.
constexpr std::chrono::seconds spacePoll{5};
} // namespace

DataFeed::DataFeed(std::vector<std::unique_ptr<SeriesTokenizer>> tokenizers, Log& log)
    : m_tokenizers(std::move(tokenizers)), m_log(log), m_thread([this] { work(); }) {}

DataFeed::~DataFeed() {
  {
    Lock lock(m_mutex);
    m_stop = true;
    m_changed.notifyAll();
  }
  m_thread.join();
}

void DataFeed::setPaused(bool paused) {
  Lock lock(m_mutex);
  m_paused = paused;
  m_changed.notifyAll();
}

bool DataFeed::ending() {
  Lock lock(m_mutex);
  while (m_paused && !m_stop) m_changed.wait(m_mutex);
  return m_stop;
}

void DataFeed::work() {
  Status outcome;
  try {
    outcome = fillAll();
  } catch (const EngineException& problem) {
    outcome = tl::unexpected<Error>(problem.error());
  } catch (const std::exception& problem) {
    outcome = failed(problem.what());
  }
  if (!outcome)
    for (const auto& tokenizer : m_tokenizers) tokenizer->series().fail(outcome.error());
}

Status DataFeed::fillAll() {
  for (bool more = true; more;) {
    more = false;
    for (const auto& tokenizer : m_tokenizers) {
      MILLRACE_TRY(const bool unfinished, nextOf(*tokenizer));
      more = more || unfinished;
    }
  }
  return {};
}

Result<bool> DataFeed::nextOf(SeriesTokenizer& tokenizer) {
  for (bool told = false;; told = true) {
    Result<bool> more = tokenizer.next([this] { return ending(); });
    const bool full = !more && more.error().kind == ErrorKind::OutOfSpace;
    if (!full || tokenizer.series().shards() == 0) {
      if (told && more) m_log.info("there is room on the disk again: tokenizing goes on");
      return more;
    }
    if (!told)
      m_log.warning("{}; tokenizing waits for room, and training goes on with what is there: make room and it goes on "
                    "by itself",
                    more.error().message);
    Lock lock(m_mutex);
    if (!m_stop) (void)m_changed.waitFor(m_mutex, spacePoll);
  }
}

} // namespace millrace
