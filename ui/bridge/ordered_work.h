// OrderedWork: work off the GUI thread that is done in the order in which it is asked for, one piece after the other,
// such as writes of which the last one has to stay. All of it is done when the owner goes. GUI thread.
#pragma once

#include "bridge/background.h"

namespace millrace::ui {

class OrderedWork {
 public:
  OrderedWork() { m_pool.setMaxThreadCount(1); }

  /// As inBackground().
  template <class Work, class Then>
  void add(QObject* context, Work work, Then then) {
    inBackground(m_pool, context, std::move(work), std::move(then));
  }

 private:
  QThreadPool m_pool;
};

} // namespace millrace::ui
