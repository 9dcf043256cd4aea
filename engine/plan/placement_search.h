// PlacementSearch: the homes of a run's units that make its step fastest within the limits, for one choice of all other
// settings. Layers are alike, so that a placement is how many of them have which home; those are spread evenly, so that
// no stretch of a phase is short of what the rest has too much of. Pure.
#pragma once

#include "plan/memory_layout.h"
#include "plan/planner.h"

#include <optional>
#include <vector>

namespace millrace {

struct PlacementGoal {
  TierTotals limits;
  StepRates rates;
  bool splitUpdates = false;
  PlacementPolicy policy = PlacementPolicy::Auto;
};

struct Placement {
  std::vector<UnitHome> homes;
  double seconds = 0;
};

class PlacementSearch {
 public:
  /// The layout must outlive it.
  PlacementSearch(const MemoryLayout& layout, const PlacementGoal& goal);

  /// nullopt: nothing fits that is faster than `toBeat` seconds by more than a thousandth.
  std::optional<Placement> best(double toBeat) const;
  /// Host memory of the placement that needs the least of it.
  Bytes leastHost() const;

 private:
  struct Counts;
  std::vector<UnitHome> heads() const;
  std::int64_t mostOnDevice(UnitHome head) const;
  double secondsOf(const std::vector<UnitHome>& homes) const;
  void consider(const Counts& counts, std::optional<Placement>& best) const;
  void placeRest(Counts counts, std::optional<Placement>& best) const;
  double withDevice(std::int64_t device, UnitHome head, std::optional<Placement>& best) const;
  std::vector<UnitHome> homesOf(const Counts& counts) const;
  bool fits(const Counts& counts) const;
  template <class Set>
  std::int64_t most(std::int64_t limit, Counts counts, const Set& set, MemoryTier tier) const;

  const MemoryLayout& m_layout;
  const PlacementGoal m_goal;
  const StepCount m_count;
  const std::int64_t m_layers;
};

bool within(const TierTotals& totals, const TierTotals& limits);

/// What the policy says of every unit; for Auto everything on the host. The tied matrix has its state on the host in
/// any case.
std::vector<UnitHome> policyHomes(const ModelSpec& spec, PlacementPolicy policy, std::size_t units);

/// As much as the disk takes is moved there, layer by layer.
std::vector<UnitHome> leastMemoryHomes(const MemoryLayout& layout, const TierTotals& limits,
                                       std::vector<UnitHome> homes);

} // namespace millrace
