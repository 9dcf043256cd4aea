// How much of each memory a run may take: sized from a profile, each with its explanation, each to be overridden. Pure
// functions; any thread.
#pragma once

#include "engine/hardware.h"

#include <optional>
#include <string>
#include <vector>

namespace millrace {

/// What a run may take of one memory.
struct TierBudget {
  Bytes bytes = 0;         ///< never negative
  Bytes free = 0;          ///< what is free now, before the reserve
  Bytes reserve = 0;       ///< what is left to others
  bool overridden = false; ///< bytes is what the user set, more than is free or not
  std::string explanation; ///< one sentence for people
  bool operator==(const TierBudget&) const = default;
};

/// What the user set, in place of what is derived.
struct TierOverrides {
  std::optional<Bytes> vram; ///< on each GPU
  std::optional<Bytes> ram;
  std::optional<Bytes> disk; ///< on each disk
};

struct TierBudgets {
  std::vector<TierBudget> vram; ///< one for each of profile.nvidia.gpus
  TierBudget ram;
  std::vector<TierBudget> disks; ///< one for each of profile.disks
  /// For each of profile.disks the first one on the same file system, itself when it is alone: those of one file system
  /// share one budget, they do not add up.
  std::vector<int> sameDisk;
  /// What of `ram` may be locked by mlock() and what counts like it. The CUDA driver pins without regard to that limit.
  TierBudget lockable;
};

/// VRAM: free now, less 1 GiB where a display is attached. RAM: usable now (cgroups counted; of a machine that is only
/// described all that it has) less 8 GiB or a tenth of
/// what the machine or its cgroups grant in all, the larger, for everything else on the machine; but never less than
/// half of what is usable, so that small machines work. Disk: free less 10 GiB or a twentieth of the disk, the larger.
TierBudgets tierBudgets(const HardwareProfile& profile, const TierOverrides& overrides = {});

} // namespace millrace
