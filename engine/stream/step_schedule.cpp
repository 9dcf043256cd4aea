#include "stream/step_schedule.h"

#include <algorithm>

namespace millrace {

namespace {

class Builder {
 public:
  Builder(std::int64_t layers, std::int64_t microBatches, std::int64_t group, int slots)
      : m_schedule{layers, microBatches, std::min(group, microBatches), {}}, m_ahead(std::max(1, slots - 1)) {}

  StepSchedule training() {
    for (m_group = 0; m_group < m_schedule.groups(); ++m_group) {
      forward();
      backward();
    }
    return std::move(m_schedule);
  }

  StepSchedule forwardAlone() {
    forward();
    const std::int64_t head = m_schedule.layers;
    add(ActionKind::Acquire, head);
    add(ActionKind::Head, head, 0);
    add(ActionKind::Release, head);
    return std::move(m_schedule);
  }

 private:
  std::int64_t count() const { return m_schedule.groupSize(m_group); }

  void add(ActionKind kind, std::int64_t unit = -1, std::int64_t microBatch = -1, std::int64_t nextLevel = -1,
           std::int64_t nextMicroBatch = -1) {
    m_schedule.actions.push_back({kind, unit, microBatch, m_group, nextLevel, nextMicroBatch});
  }

  void forward() {
    const std::int64_t layers = m_schedule.layers;
    add(ActionKind::LoadBatch);
    for (std::int64_t unit = 0; unit < std::min<std::int64_t>(m_ahead, layers); ++unit) add(ActionKind::Prefetch, unit);
    for (std::int64_t m = 0; m < count(); ++m) add(ActionKind::Embed, -1, m);
    for (std::int64_t layer = 0; layer < layers; ++layer) {
      add(ActionKind::Acquire, layer);
      if (layer + m_ahead <= layers) add(ActionKind::Prefetch, layer + m_ahead);
      for (std::int64_t m = 0; m < count(); ++m) {
        const bool last = m + 1 == count();
        add(ActionKind::Forward, layer, m, last ? layer + 1 : layer, last ? 0 : m + 1);
      }
      add(ActionKind::Release, layer);
    }
  }

  void backward() {
    const std::int64_t head = m_schedule.layers;
    add(ActionKind::Acquire, head);
    add(ActionKind::BeginGradient, head);
    for (std::int64_t m = 0; m < count(); ++m) add(ActionKind::Head, head, m);
    add(ActionKind::Release, head);
    add(ActionKind::Reduce, head);
    for (std::int64_t layer = head - 1; layer >= 0; --layer) {
      add(ActionKind::Acquire, layer);
      if (layer - m_ahead >= 0) add(ActionKind::Prefetch, layer - m_ahead);
      add(ActionKind::BeginGradient, layer);
      for (std::int64_t m = 0; m < count(); ++m) {
        const bool last = m + 1 == count();
        add(ActionKind::Backward, layer, m, last ? layer - 1 : layer, last ? 0 : m + 1);
      }
      add(ActionKind::Release, layer);
      add(ActionKind::Reduce, layer);
    }
    for (std::int64_t m = 0; m < count(); ++m) add(ActionKind::EmbedBackward, -1, m);
  }

  StepSchedule m_schedule;
  std::int64_t m_ahead;
  std::int64_t m_group = 0;
};

} // namespace

std::int64_t StepSchedule::groupSize(std::int64_t index) const {
  return std::min(group, microBatches - index * group);
}

StepSchedule trainingSchedule(std::int64_t layers, std::int64_t microBatches, std::int64_t group, int slots) {
  return Builder(layers, microBatches, group, slots).training();
}

StepSchedule forwardSchedule(std::int64_t layers, int slots) {
  return Builder(layers, 1, 1, slots).forwardAlone();
}

} // namespace millrace
