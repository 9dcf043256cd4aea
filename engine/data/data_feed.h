// DataFeed: a thread that fills series of shards, in turn, while others train on what is there. Ends when all are
// complete, when one fails (which all of them then tell), or when it is destroyed.
#pragma once

#include "base/mutex.h"
#include "data/series_tokenizer.h"

#include <thread>

namespace millrace {

class DataFeed {
 public:
  /// Everything that the tokenizers refer to must outlive this.
  explicit DataFeed(std::vector<std::unique_ptr<SeriesTokenizer>> tokenizers);
  ~DataFeed();
  DataFeed(const DataFeed&) = delete;
  DataFeed& operator=(const DataFeed&) = delete;

  /// Any thread.
  void setPaused(bool paused);

 private:
  /// Whether to end; blocks while it is paused.
  bool ending();
  void work();
  Status fillAll();

  std::vector<std::unique_ptr<SeriesTokenizer>> m_tokenizers;
  Mutex m_mutex;
  Condition m_changed;
  bool m_stop MILLRACE_GUARDED_BY(m_mutex) = false;
  bool m_paused MILLRACE_GUARDED_BY(m_mutex) = false;
  std::thread m_thread;
};

} // namespace millrace
