// A pool, a device whose memory is exactly what the plan says, and a trainer with starting weights; and the whole state
// of a training as values, for comparing bits.
#pragma once

#include "model/initialization.h"
#include "support/memory_file_system.h"
#include "support/test_device.h"
#include "train/load_weights.h"
#include "train/trainer.h"

#include <cstring>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace millrace::test {

/// Everything that may differ between runs that must agree, and what must not.
struct Setting {
  RunShape shape;
  std::vector<UnitHome> homes;  ///< empty: all on the host
  double deviceUpdateShare = 0; ///< with update slots in the shape
  int threads = 2;
  bool overlap = true;
  double maxGradNorm = 0.5;
};

/// Masters and both moments of every block.
struct StateBits {
  std::vector<std::vector<float>> planes;

  /// Where two states differ; empty when they are equal in bits.
  std::string difference(const StateBits& other) const {
    if (planes.size() != other.planes.size()) return "another number of planes";
    for (std::size_t p = 0; p < planes.size(); ++p) {
      if (planes[p].size() != other.planes[p].size()) return fmt::format("plane {}: another size", p);
      for (std::size_t i = 0; i < planes[p].size(); ++i)
        if (std::memcmp(&planes[p][i], &other.planes[p][i], sizeof(float)) != 0)
          return fmt::format("{} of block {}, element {}: {} and {}",
                             p % 3 == 0   ? "master"
                             : p % 3 == 1 ? "first moment"
                                          : "second moment",
                             p / 3, i, planes[p][i], other.planes[p][i]);
    }
    return {};
  }
};

class World {
 public:
  World(const ModelSpec& spec, const Setting& setting)
      : World(spec, layOut(spec, setting), setting.threads, setting.overlap, setting.maxGradNorm) {}

  World(const ModelSpec& spec, const MemoryPlan& plan, int threads = 2, bool overlap = true, double maxGradNorm = 0.5)
      : m_pool(std::make_unique<ThreadPool>(threads)),
        m_device(makeTestDevice(*m_pool, plan.total(MemoryTier::Device), plan.total(MemoryTier::Host))) {
    if (plan.total(MemoryTier::Disk) > 0)
      m_disk = valueOrThrow(DiskTier::create(m_files, {.directories = {"/disk"}, .shardBytes = 4 * MiB},
                                             diskRanges(plan), *m_pool, m_log));
    TrainerOptions options;
    options.adamW.weightDecay = 0.1;
    options.maxGradNorm = maxGradNorm;
    options.overlap = overlap;
    m_trainer = valueOrThrow(Trainer::create(*m_device, *m_pool, spec, plan, options, m_disk.get()));
    valueOrThrow(loadWeights(store(), *streams().copyIn,
                             [&](const BlockSpec& block, std::int64_t first, std::span<float> values) -> Status {
                               initialBlockValues(spec, block, 7, first, values);
                               return {};
                             }));
  }

  static MemoryPlan layOut(const ModelSpec& spec, const Setting& setting) {
    std::vector<UnitHome> homes = setting.homes;
    if (homes.empty()) homes.assign(spec.layers.size() + 1, UnitHome::Host);
    MemoryPlan plan = layOutMemory(spec, setting.shape, homes);
    plan.deviceUpdateShare = setting.deviceUpdateShare;
    return plan;
  }

  Trainer& trainer() { return *m_trainer; }
  Device& device() { return *m_device; }
  DiskTier* disk() { return m_disk.get(); }
  FileSystem& files() { return m_files; }
  ForwardRunner& runner() { return m_trainer->runner(); }
  TensorStore& store() { return runner().store(); }
  Streams& streams() { return runner().streams(); }

  StateBits state() {
    m_trainer->applyPending();
    StateBits bits;
    for (std::size_t b = 0; b < store().blocks().size(); ++b)
      for (const auto quantity :
           {TensorStore::Quantity::Master, TensorStore::Quantity::Moment1, TensorStore::Quantity::Moment2}) {
        bits.planes.emplace_back(static_cast<std::size_t>(store().blocks()[b].elements));
        valueOrThrow(store().read(*streams().copyOut, b, quantity, 0, bits.planes.back()));
      }
    return bits;
  }

 private:
  MemoryFileSystem m_files;
  Log m_log;
  std::unique_ptr<ThreadPool> m_pool;
  std::unique_ptr<Device> m_device;
  std::unique_ptr<DiskTier> m_disk; ///< where something is on disk
  std::unique_ptr<Trainer> m_trainer;
};

} // namespace millrace::test
