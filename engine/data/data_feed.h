// DataFeed: a thread that fills series of shards, in turn, while others train on what is there. Ends when all are
// complete, when one fails (which all of them then tell), or when it is destroyed. While the disk is full it waits for
// room, once there is something to train on.
#pragma once

#include "base/mutex.h"
#include "data/series_tokenizer.h"

#include <thread>

namespace millrace {

class DataFeed {
 public:
  /// Everything that the tokenizers refer to must outlive this.
  DataFeed(std::vector<std::unique_ptr<SeriesTokenizer>> tokenizers, Log& log);
  ~DataFeed();
  DataFeed(const DataFeed&) = delete;
  DataFeed& operator=(const DataFeed&) = delete;

  /// Any thread. Who lets it go on has it look for room at once.
  void setPaused(bool paused);

 private:
  /// Whether to end; blocks while it is paused.
  bool ending();
  void work();
  Status fillAll();
  Result<bool> nextOf(SeriesTokenizer& tokenizer);

  std::vector<std::unique_ptr<SeriesTokenizer>> m_tokenizers;
  Log& m_log;
  Mutex m_mutex;
  Condition m_changed;
  bool m_stop MILLRACE_GUARDED_BY(m_mutex) = false;
  bool m_paused MILLRACE_GUARDED_BY(m_mutex) = false;
  std::thread m_thread;
};

} // namespace millrace
