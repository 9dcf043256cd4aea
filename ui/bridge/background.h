// Work off the GUI thread: files, probes and plans are read and made on the pool's threads, and their results come back
// where widgets may be touched.
#pragma once

#include <QtConcurrent/QtConcurrentRun>

#include <QFutureWatcher>
#include <QObject>
#include <QThreadPool>
#include <type_traits>
#include <utility>

namespace millrace::ui {

/// Runs work() on a thread of the pool and then(its result) on the context's thread, never before this returns and
/// never once the context is gone. Called on the context's thread. work must not touch any QObject.
template <class Work, class Then>
void inBackground(QThreadPool& pool, QObject* context, Work work, Then then) {
  using Result = std::invoke_result_t<Work>;
  auto* watcher = new QFutureWatcher<Result>(context);
  QObject::connect(watcher, &QFutureWatcherBase::finished, context, [watcher, then = std::move(then)]() mutable {
    watcher->deleteLater();
    if constexpr (std::is_void_v<Result>)
      then();
    else
      then(watcher->result());
  });
  watcher->setFuture(QtConcurrent::run(&pool, std::move(work)));
}
/// On the global pool.
template <class Work, class Then>
void inBackground(QObject* context, Work work, Then then) {
  inBackground(*QThreadPool::globalInstance(), context, std::move(work), std::move(then));
}

} // namespace millrace::ui
