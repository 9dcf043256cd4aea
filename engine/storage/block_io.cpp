#include "storage/block_io.h"

#include <chrono>

namespace millrace {

namespace {

double steadySeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

} // namespace

void BlockMeter::begin(BlockAction action) {
  const Lock lock(m_mutex);
  Way& way = m_ways[static_cast<int>(action)];
  if (way.underWay++ == 0) way.since = steadySeconds();
}

void BlockMeter::end(BlockAction action, Bytes bytes) {
  const Lock lock(m_mutex);
  Way& way = m_ways[static_cast<int>(action)];
  way.use.bytes += bytes;
  if (--way.underWay == 0) way.use.seconds += steadySeconds() - way.since;
}

BlockMeter::Use BlockMeter::use(BlockAction action) const {
  const Lock lock(m_mutex);
  const Way& way = m_ways[static_cast<int>(action)];
  Use use = way.use;
  if (way.underWay > 0) use.seconds += steadySeconds() - way.since;
  return use;
}

void BlockGroup::begin() {
  const Lock lock(m_mutex);
  ++m_underWay;
}

void BlockGroup::end(std::uint32_t tag, Status status) {
  const Lock lock(m_mutex);
  if (!status) m_failures.push_back({tag, std::move(status.error())});
  if (--m_underWay == 0) m_ended.notifyAll(); // under the lock: who waits may destroy the group right afterwards
}

void BlockGroup::wait() {
  const Lock lock(m_mutex);
  while (m_underWay > 0) m_ended.wait(m_mutex);
}

bool BlockGroup::ended() const {
  const Lock lock(m_mutex);
  return m_underWay == 0;
}

} // namespace millrace
