#include "plan/placement_search.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace millrace {

namespace {
constexpr std::int64_t coarseSteps = 16;
} // namespace

/// Layers by home, and the head's.
struct PlacementSearch::Counts {
  std::array<std::int64_t, unitHomes> layers{};
  UnitHome head = UnitHome::WeightsOnDevice;
  std::int64_t& operator[](UnitHome home) { return layers[static_cast<std::size_t>(home)]; }
};

PlacementSearch::PlacementSearch(const MemoryLayout& layout, const PlacementGoal& goal)
    : m_layout(layout), m_goal(goal), m_count(layout), m_layers(static_cast<std::int64_t>(layout.units().size()) - 1) {}

double PlacementSearch::secondsOf(const std::vector<UnitHome>& homes) const {
  return predictStep(m_count.work(homes), m_goal.rates, m_goal.splitUpdates).seconds;
}

/// Each layer takes the home that is furthest behind its even share.
std::vector<UnitHome> PlacementSearch::homesOf(const Counts& counts) const {
  std::vector<UnitHome> homes;
  std::array<std::int64_t, unitHomes> given{};
  for (std::int64_t layer = 0; layer < m_layers; ++layer) {
    std::size_t chosen = 0;
    std::int64_t furthest = INT64_MIN;
    for (std::size_t home = 0; home < unitHomes; ++home) {
      if (given[home] == counts.layers[home]) continue;
      const std::int64_t behind = counts.layers[home] * (layer + 1) - given[home] * m_layers;
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

bool PlacementSearch::fits(const Counts& counts) const {
  return within(m_layout.totals(homesOf(counts)), m_goal.limits);
}

void PlacementSearch::consider(const Counts& counts, std::optional<Placement>& best) const {
  std::vector<UnitHome> homes = homesOf(counts);
  if (!within(m_layout.totals(homes), m_goal.limits)) return;
  const double seconds = secondsOf(homes);
  if (!best || seconds < best->seconds) best = Placement{std::move(homes), seconds};
}

/// The most layers, up to limit, that set(counts, n) can give a home before the tier is full.
template <class Set>
std::int64_t PlacementSearch::most(std::int64_t limit, Counts counts, const Set& set, MemoryTier tier) const {
  const auto has = [&](std::int64_t n) {
    Counts changed = counts;
    set(changed, n);
    return m_layout.totals(homesOf(changed))[tier] <= m_goal.limits[tier];
  };
  if (limit <= 0 || has(limit)) return std::max<std::int64_t>(0, limit);
  std::int64_t least = 0;
  while (limit - least > 1) {
    const std::int64_t middle = (least + limit) / 2;
    (has(middle) ? least : limit) = middle;
  }
  return least;
}

/// Layers that are in counts' Host still, between host memory and disk: of three homes and one limit the best mixture
/// is one of two.
void PlacementSearch::placeRest(Counts counts, std::optional<Placement>& best) const {
  const std::int64_t rest = counts[UnitHome::Host];
  if (fits(counts)) return consider(counts, best);
  if (m_goal.limits[MemoryTier::Disk] == 0) return;
  using enum UnitHome;
  for (const auto& [more, fewer] : {std::pair{Host, MomentsOnDisk}, {Host, Disk}, {MomentsOnDisk, Disk}}) {
    const auto set = [&](Counts& changed, std::int64_t n) {
      changed[Host] = 0;
      changed[fewer] = rest - n;
      changed[more] = n;
    };
    const std::int64_t n = most(rest, counts, set, MemoryTier::Host);
    for (std::int64_t near = std::max<std::int64_t>(0, n - 1); near <= n; ++near) {
      Counts changed = counts;
      set(changed, near);
      consider(changed, best);
    }
  }
}

/// The best with so many layers wholly on the device; what else the device holds goes to weights.
double PlacementSearch::withDevice(std::int64_t device, UnitHome head, std::optional<Placement>& best) const {
  Counts counts;
  counts.head = head;
  counts[UnitHome::Device] = device;
  const std::int64_t rest = m_layers - device;
  counts[UnitHome::Host] = rest;
  const auto set = [&](Counts& changed, std::int64_t n) {
    changed[UnitHome::Host] = rest - n;
    changed[UnitHome::WeightsOnDevice] = n;
  };
  std::optional<Placement> here;
  const std::int64_t weights = most(rest, counts, set, MemoryTier::Device);
  for (const std::int64_t n : {weights, std::int64_t{0}}) { // weights on the device need a copy on the host as well
    Counts changed = counts;
    set(changed, n);
    placeRest(changed, here);
    // On disk there is no home with weights on the device too: trade some of them for it.
    for (std::int64_t fewer = n - std::max<std::int64_t>(1, n / 4); !here && fewer > 0;
         fewer -= std::max<std::int64_t>(1, n / 4)) {
      Counts traded = counts;
      set(traded, fewer);
      placeRest(traded, here);
    }
  }
  if (!here) return INFINITY;
  const double seconds = here->seconds;
  if (!best || seconds < best->seconds) best = std::move(here);
  return seconds;
}

std::vector<UnitHome> PlacementSearch::heads() const {
  std::vector<UnitHome> heads{UnitHome::WeightsOnDevice};
  if (m_layout.shape().devices == 1 && !m_layout.spec().tiedEmbeddings) heads.push_back(UnitHome::Device);
  if (m_goal.limits[MemoryTier::Disk] > 0) heads.insert(heads.end(), {UnitHome::MomentsOnDisk, UnitHome::Disk});
  return heads;
}

/// Layers that can live wholly on the device. Where devices share the state it lives on the host.
std::int64_t PlacementSearch::mostOnDevice(UnitHome head) const {
  if (m_layout.shape().devices > 1) return 0;
  Counts counts;
  counts.head = head;
  const auto set = [&](Counts& changed, std::int64_t n) {
    changed[UnitHome::Host] = m_layers - n;
    changed[UnitHome::Device] = n;
  };
  return most(m_layers, counts, set, MemoryTier::Device);
}

std::optional<Placement> PlacementSearch::best(double toBeat) const {
  std::optional<Placement> best;
  const auto result = [&]() -> std::optional<Placement> {
    if (best && best->seconds < toBeat * 0.999) return best;
    return std::nullopt;
  };
  const ModelSpec& spec = m_layout.spec();
  if (m_goal.policy == PlacementPolicy::Weights || m_goal.policy == PlacementPolicy::Device) {
    std::vector<UnitHome> homes = policyHomes(spec, m_goal.policy, m_layout.units().size());
    if (!within(m_layout.totals(homes), m_goal.limits)) return std::nullopt;
    const double seconds = secondsOf(homes);
    best = Placement{std::move(homes), seconds};
    return result();
  }
  if (m_goal.policy == PlacementPolicy::Host) {
    Counts counts;
    counts[UnitHome::Host] = m_layers;
    for (const UnitHome head : {UnitHome::Host, UnitHome::MomentsOnDisk, UnitHome::Disk}) {
      counts.head = head;
      placeRest(counts, best);
    }
    return result();
  }
  // Nothing can be faster than the device alone.
  const std::vector<UnitHome> all(static_cast<std::size_t>(m_layers) + 1, UnitHome::Device);
  StepWork least = m_count.work(all);
  least.deviceUpdates = 0;
  if (predictStep(least, m_goal.rates, false).seconds >= toBeat * 0.999) return std::nullopt;

  for (const UnitHome head : heads()) {
    const std::int64_t limit = mostOnDevice(head);
    const std::int64_t step = std::max<std::int64_t>(1, limit / coarseSteps);
    std::int64_t at = 0;
    double fastest = INFINITY;
    const auto look = [&](std::int64_t device) {
      const double seconds = withDevice(device, head, best);
      if (seconds < fastest) {
        fastest = seconds;
        at = device;
      }
    };
    for (std::int64_t device = 0; device < limit; device += step) look(device);
    look(limit);
    const std::int64_t coarse = at;
    for (std::int64_t device = std::max<std::int64_t>(0, coarse - step + 1);
         step > 1 && device < std::min(limit, coarse + step); ++device)
      look(device);
  }
  return result();
}

Bytes PlacementSearch::leastHost() const {
  const auto least = [&](std::vector<UnitHome> homes) {
    if (m_goal.limits[MemoryTier::Disk] > 0) homes = leastMemoryHomes(m_layout, m_goal.limits, std::move(homes));
    return m_layout.totals(homes)[MemoryTier::Host];
  };
  Bytes bytes = least(policyHomes(m_layout.spec(), m_goal.policy, m_layout.units().size()));
  if (m_goal.policy != PlacementPolicy::Auto) return bytes;
  for (const UnitHome head : heads()) {
    Counts counts;
    counts.head = head;
    counts[UnitHome::Device] = mostOnDevice(head);
    counts[UnitHome::Host] = m_layers - counts[UnitHome::Device];
    std::vector<UnitHome> homes = homesOf(counts);
    if (m_layout.totals(homes)[MemoryTier::Device] <= m_goal.limits[MemoryTier::Device])
      bytes = std::min(bytes, least(std::move(homes)));
  }
  return bytes;
}

bool within(const TierTotals& totals, const TierTotals& limits) {
  for (std::size_t tier = 0; tier < memoryTiers; ++tier)
    if (totals.bytes[tier] > limits.bytes[tier]) return false;
  return true;
}

std::vector<UnitHome> policyHomes(const ModelSpec& spec, PlacementPolicy policy, std::size_t units) {
  UnitHome home = UnitHome::Host;
  if (policy == PlacementPolicy::Weights) home = UnitHome::WeightsOnDevice;
  if (policy == PlacementPolicy::Device) home = UnitHome::Device;
  std::vector<UnitHome> homes(units, home);
  if (spec.tiedEmbeddings && home == UnitHome::Device) homes.back() = UnitHome::WeightsOnDevice;
  return homes;
}

std::vector<UnitHome> leastMemoryHomes(const MemoryLayout& layout, const TierTotals& limits,
                                       std::vector<UnitHome> homes) {
  for (UnitHome& home : homes) {
    if (!streams(home)) continue;
    const UnitHome before = home;
    home = UnitHome::Disk;
    if (layout.totals(homes)[MemoryTier::Disk] > limits[MemoryTier::Disk]) home = before;
  }
  return homes;
}

} // namespace millrace
