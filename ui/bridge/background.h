// Work off the GUI thread: files, probes and plans are read and made on the pool's threads, and their results come back
// where widgets may be touched.
#pragma once

#include <QtConcurrent/QtConcurrentRun>

#include <QFuture>
#include <QObject>
#include <utility>

namespace millrace::ui {

/// Runs work() on a thread of the global pool and then(its result) on the context's thread; never calls `then` once the
/// context is gone. work must not touch any QObject.
template <class Work, class Then>
void inBackground(QObject* context, Work work, Then then) {
  QtConcurrent::run(std::move(work)).then(context, std::move(then));
}

} // namespace millrace::ui
