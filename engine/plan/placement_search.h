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
  std::optional<double> deviceUpdateShare;
  bool holdGradients = true;
  PlacementPolicy policy = PlacementPolicy::Auto;
};

struct Placement {
  HomeCounts counts;
  double cost = 0; ///< StepTime::cost()
};

class PlacementSearch {
 public:
  /// The layout must outlive it.
  PlacementSearch(const MemoryLayout& layout, const PlacementGoal& goal);

  /// nullopt: nothing fits that is better than a cost of `toBeat` by more than a thousandth.
  std::optional<Placement> best(double toBeat) const;

  /// Of the placements that device and disk have room for the one that needs the least host memory; nullopt: there is
  /// none. Something fits all limits exactly when this one does.
  std::optional<HomeCounts> leanest() const;

 private:
  std::vector<UnitHome> heads() const;
  std::int64_t mostOnDevice(UnitHome head) const;
  double costOf(const HomeCounts& counts) const;
  std::int64_t layersToHold(const HomeCounts& counts, std::int64_t most) const;
  bool consider(HomeCounts counts, std::optional<Placement>& best) const;
  double placeRest(HomeCounts counts, std::optional<Placement>& best) const;
  void searchHead(UnitHome head, std::optional<Placement>& best) const;
  template <class Set>
  std::int64_t most(std::int64_t limit, const Set& set, MemoryTier tier) const;

  const MemoryLayout& m_layout;
  const PlacementGoal m_goal;
  const StepCount m_count;
  const std::int64_t m_layers;
};

bool within(const TierTotals& totals, const TierTotals& limits);

/// What the policy says of all units; for Auto everything on the host. The tied matrix has its state on the host in
/// any case.
HomeCounts policyCounts(const ModelSpec& spec, PlacementPolicy policy);

/// A home for every unit, layers of each home spread evenly.
std::vector<UnitHome> spreadHomes(const HomeCounts& counts);

} // namespace millrace
