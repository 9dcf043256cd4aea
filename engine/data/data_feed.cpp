#include "data/data_feed.h"

namespace millrace {

DataFeed::DataFeed(std::vector<std::unique_ptr<SeriesTokenizer>> tokenizers)
    : m_tokenizers(std::move(tokenizers)), m_thread([this] { work(); }) {}

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
      MILLRACE_TRY(const bool unfinished, tokenizer->next([this] { return ending(); }));
      more = more || unfinished;
    }
  }
  return {};
}

} // namespace millrace
