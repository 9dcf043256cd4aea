#include "plan/placement_search.h"

#include <algorithm>
#include <cmath>

namespace millrace {

namespace {

/// Counts of layers are looked at in so many steps first, then ever closer around the best.
constexpr std::int64_t coarseSteps = 16;
/// Up to so many layers beside those on the device all their homes are tried.
constexpr std::int64_t tryAll = 12;

} // namespace

PlacementSearch::PlacementSearch(const MemoryLayout& layout, const PlacementGoal& goal)
    : m_layout(layout), m_goal(goal), m_count(layout), m_layers(static_cast<std::int64_t>(layout.units().size()) - 1) {}

double PlacementSearch::costOf(const HomeCounts& counts) const {
  return predictStep(m_count.work(counts), m_goal.rates, m_goal.splitUpdates, m_goal.deviceUpdateShare).cost();
}

/// Up to `most`, and no more than are on the host.
std::int64_t PlacementSearch::layersToHold(const HomeCounts& counts, std::int64_t most) const {
  if (!m_goal.holdGradients || m_layout.shape().clip != ClipMode::Off || m_goal.rates.sharedCores) return 0;
  const double layers =
      updatesToHold(m_count.work(counts), m_goal.rates) / static_cast<double>(m_layout.units().front().elements);
  most = std::min(most, counts.onHost());
  const auto fewer = std::min(most, static_cast<std::int64_t>(std::floor(layers)));
  HomeCounts less = counts, more = counts;
  less.held = fewer;
  more.held = std::min(most, fewer + 1);
  return costOf(more) < costOf(less) ? more.held : less.held;
}

/// Whether it fits. Layers are held as far as there is memory for them.
bool PlacementSearch::consider(HomeCounts counts, std::optional<Placement>& best) const {
  const TierTotals totals = m_layout.totals(counts);
  if (!within(totals, m_goal.limits)) return false;
  const Bytes room = m_goal.limits[MemoryTier::Host] - totals[MemoryTier::Host];
  const Bytes ofLayer = m_layout.heldLayerBytes();
  counts.held = layersToHold(counts, ofLayer > 0 ? room / ofLayer : m_layers);
  const double cost = costOf(counts);
  if (!best || cost < best->cost) best = Placement{counts, cost};
  return true;
}

/// The most layers, up to limit, that set(n) can give a home before the tier is full.
template <class Set>
std::int64_t PlacementSearch::most(std::int64_t limit, const Set& set, MemoryTier tier) const {
  const auto has = [&](std::int64_t n) { return m_layout.totals(set(n))[tier] <= m_goal.limits[tier]; };
  if (limit <= 0 || has(limit)) return std::max<std::int64_t>(0, limit);
  std::int64_t least = 0;
  while (limit - least > 1) {
    const std::int64_t middle = (least + limit) / 2;
    (has(middle) ? least : limit) = middle;
  }
  return least;
}

/// Layers that are in counts' Host still, between host memory and disk; the cost of what they become, or, where that
/// cannot be the best, a cost that is less. Nothing is faster than all of them in host memory.
double PlacementSearch::placeRest(HomeCounts counts, std::optional<Placement>& best) const {
  using enum UnitHome;
  HomeCounts ideal = counts;
  ideal.held = layersToHold(counts, m_layers);
  const double least = costOf(ideal);
  if (best && least >= best->cost) return least;
  const TierTotals totals = m_layout.totals(counts);
  if (totals[MemoryTier::Device] > m_goal.limits[MemoryTier::Device]) return INFINITY;
  std::optional<Placement> here;
  const std::int64_t rest = counts[Host];
  const auto with = [&](std::int64_t moments, std::int64_t disk) {
    HomeCounts changed = counts;
    changed[Host] = rest - moments - disk;
    changed[MomentsOnDisk] = moments;
    changed[Disk] = disk;
    return changed;
  };
  // Layers on disk make room for gradients that are held.
  const bool fits = consider(counts, here);
  if ((!fits || here->counts.held < ideal.held) && m_goal.limits[MemoryTier::Disk] > 0) {
    if (rest <= tryAll) {
      for (std::int64_t disk = 0; disk <= rest; ++disk)
        for (std::int64_t moments = 0; moments <= rest - disk; ++moments) consider(with(moments, disk), here);
    } else {
      // Of three homes and one limit the best mixture is one of two.
      const auto mix = [&](const auto& set) {
        const std::int64_t n = most(rest, set, MemoryTier::Host);
        for (std::int64_t near = std::max<std::int64_t>(0, n - 1 - ideal.held); near <= n; ++near)
          consider(set(near), here);
      };
      mix([&](std::int64_t n) { return with(rest - n, 0); });
      mix([&](std::int64_t n) { return with(0, rest - n); });
      mix([&](std::int64_t n) { return with(n, rest - n); });
    }
  }
  if (here && (!best || here->cost < best->cost)) best = here;
  return here ? here->cost : INFINITY;
}

std::vector<UnitHome> PlacementSearch::heads() const {
  const bool disk = m_goal.limits[MemoryTier::Disk] > 0;
  const bool tied = m_layout.spec().tiedEmbeddings; // the matrix is among the tables; nothing is won by a norm on disk
  std::vector<UnitHome> heads{m_goal.policy == PlacementPolicy::Host ? UnitHome::Host : UnitHome::WeightsOnDevice};
  if (m_goal.policy == PlacementPolicy::Auto && m_layout.shape().devices == 1) heads.push_back(UnitHome::Device);
  if (disk && !tied) heads.insert(heads.end(), {UnitHome::MomentsOnDisk, UnitHome::Disk});
  return heads;
}

/// Layers that can live wholly on the device. Where devices share the state it lives on the host.
std::int64_t PlacementSearch::mostOnDevice(UnitHome head) const {
  if (m_layout.shape().devices > 1 || m_goal.policy != PlacementPolicy::Auto) return 0;
  const auto set = [&](std::int64_t n) {
    HomeCounts counts;
    counts.head = head;
    counts[UnitHome::Host] = m_layers - n;
    counts[UnitHome::Device] = n;
    return counts;
  };
  return most(m_layers, set, MemoryTier::Device);
}

/// Layers on the device, and layers with their weights there: a grid of both, then closer and closer.
void PlacementSearch::searchHead(UnitHome head, std::optional<Placement>& best) const {
  const std::int64_t deviceLimit = mostOnDevice(head);
  const auto withWeights = [&](std::int64_t device, std::int64_t weights) {
    HomeCounts counts;
    counts.head = head;
    counts[UnitHome::Device] = device;
    counts[UnitHome::WeightsOnDevice] = weights;
    counts[UnitHome::Host] = m_layers - device - weights;
    return counts;
  };
  const auto mostWeights = [&](std::int64_t device) -> std::int64_t {
    if (m_goal.policy != PlacementPolicy::Auto) return 0;
    return most(
        m_layers - device, [&](std::int64_t n) { return withWeights(device, n); }, MemoryTier::Device);
  };
  std::int64_t bestDevice = 0, bestWeights = 0;
  double lowest = INFINITY;
  const auto look = [&](std::int64_t device, std::int64_t weights) {
    const double cost = placeRest(withWeights(device, weights), best);
    if (cost >= lowest) return;
    lowest = cost;
    bestDevice = device;
    bestWeights = weights;
  };
  const auto forEach = [](std::int64_t limit, std::int64_t step, const auto& visit) {
    for (std::int64_t n = limit; n > 0; n -= step) visit(n); // the most first: it is often the best
    visit(std::int64_t{0});
  };
  const std::int64_t deviceStep = std::max<std::int64_t>(1, deviceLimit / coarseSteps);
  std::int64_t weightsStep = 1;
  forEach(deviceLimit, deviceStep, [&](std::int64_t device) {
    const std::int64_t limit = mostWeights(device);
    const std::int64_t step = std::max<std::int64_t>(1, limit / coarseSteps);
    weightsStep = std::max(weightsStep, step);
    forEach(limit, step, [&](std::int64_t weights) { look(device, weights); });
  });
  if (!(lowest < INFINITY)) return;
  for (std::int64_t d = deviceStep, w = weightsStep; d > 1 || w > 1;) {
    d = std::max<std::int64_t>(1, d / 2);
    w = std::max<std::int64_t>(1, w / 2);
    const std::int64_t aroundDevice = bestDevice, aroundWeights = bestWeights;
    for (std::int64_t device = std::max<std::int64_t>(0, aroundDevice - d);
         device <= std::min(deviceLimit, aroundDevice + d); device += d) {
      const std::int64_t limit = mostWeights(device);
      look(device, limit);
      for (const std::int64_t weights : {aroundWeights - w, aroundWeights, aroundWeights + w})
        if (weights >= 0 && weights < limit) look(device, weights);
    }
  }
}

std::optional<Placement> PlacementSearch::best(double toBeat) const {
  const ModelSpec& spec = m_layout.spec();
  const double toReach = toBeat * 0.999;
  std::optional<Placement> best;
  if (m_goal.policy == PlacementPolicy::Weights || m_goal.policy == PlacementPolicy::Device) {
    HomeCounts counts = policyCounts(spec, m_goal.policy);
    if (consider(counts, best) && best->cost < toReach) return best;
    return std::nullopt;
  }
  // Nothing can be faster than the device alone, and nothing that fits is there when the leanest does not.
  HomeCounts all;
  all[UnitHome::Device] = m_layers;
  all.head = UnitHome::Device;
  StepWork least = m_count.work(all);
  least.deviceUpdates = 0;
  if (predictStep(least, m_goal.rates, m_goal.splitUpdates, m_goal.deviceUpdateShare).cost() >= toReach)
    return std::nullopt;
  const std::optional<HomeCounts> lean = leanest();
  if (!lean || !consider(*lean, best)) return std::nullopt;
  best->cost = std::min(best->cost, toReach); // what is not faster need not be looked at
  for (const UnitHome head : heads()) searchHead(head, best);
  if (best->cost < toReach) return best;
  return std::nullopt;
}

std::optional<HomeCounts> PlacementSearch::leanest() const {
  std::optional<HomeCounts> leanest;
  Bytes leastHost = 0;
  const auto consider = [&](const HomeCounts& counts) {
    const TierTotals totals = m_layout.totals(counts);
    for (const MemoryTier tier : {MemoryTier::Device, MemoryTier::Disk})
      if (totals[tier] > m_goal.limits[tier]) return;
    if (leanest && totals[MemoryTier::Host] >= leastHost) return;
    leanest = counts;
    leastHost = totals[MemoryTier::Host];
  };
  if (m_goal.policy == PlacementPolicy::Weights || m_goal.policy == PlacementPolicy::Device) {
    consider(policyCounts(m_layout.spec(), m_goal.policy));
    return leanest;
  }
  for (const UnitHome head : heads()) {
    HomeCounts counts;
    counts.head = head;
    counts[UnitHome::Device] = mostOnDevice(head); // each one there is one less in host memory or on disk
    const std::int64_t rest = m_layers - counts[UnitHome::Device];
    const auto with = [&](std::int64_t moments, std::int64_t disk) {
      HomeCounts changed = counts;
      changed[UnitHome::Host] = rest - moments - disk;
      changed[UnitHome::MomentsOnDisk] = moments;
      changed[UnitHome::Disk] = disk;
      return changed;
    };
    consider(with(0, 0));
    if (m_goal.limits[MemoryTier::Disk] == 0) continue;
    // The first on disk need buffers in host memory, all others leave it: none are moved or as many as can be.
    const std::int64_t mostDisk = most(
        rest, [&](std::int64_t n) { return with(0, n); }, MemoryTier::Disk);
    for (std::int64_t disk = 0; disk <= mostDisk; ++disk) {
      consider(with(0, disk));
      consider(with(most(
                        rest - disk, [&](std::int64_t n) { return with(n, disk); }, MemoryTier::Disk),
                    disk));
    }
  }
  return leanest;
}

bool within(const TierTotals& totals, const TierTotals& limits) {
  for (std::size_t tier = 0; tier < memoryTiers; ++tier)
    if (totals.bytes[tier] > limits.bytes[tier]) return false;
  return true;
}

HomeCounts policyCounts(const ModelSpec& spec, PlacementPolicy policy) {
  HomeCounts counts;
  counts.head = policy == PlacementPolicy::Weights  ? UnitHome::WeightsOnDevice
                : policy == PlacementPolicy::Device ? UnitHome::Device
                                                    : UnitHome::Host;
  counts[counts.head] = static_cast<std::int64_t>(spec.layers.size());
  return counts;
}

/// Each layer takes the home that is furthest behind its even share.
std::vector<UnitHome> spreadHomes(const HomeCounts& counts) {
  std::vector<UnitHome> homes;
  std::int64_t layers = 0;
  for (const std::int64_t count : counts.layers) layers += count;
  std::array<std::int64_t, unitHomes> given{};
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    std::size_t chosen = 0;
    std::int64_t furthest = INT64_MIN;
    for (std::size_t home = 0; home < unitHomes; ++home) {
      if (given[home] == counts.layers[home]) continue;
      const std::int64_t behind = counts.layers[home] * (layer + 1) - given[home] * layers;
      if (behind > furthest) {
        furthest = behind;
        chosen = home;
      }
    }
    ++given[chosen];
    homes.push_back(static_cast<UnitHome>(chosen));
  }
  homes.push_back(counts.head);
  return homes;
}

} // namespace millrace
