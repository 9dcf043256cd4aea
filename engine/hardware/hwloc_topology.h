// A topology that hwloc has loaded, owned.
#pragma once

#include "base/file.h"

#include <hwloc.h>
#include <memory>

namespace millrace {

struct TopologyDestroyer {
  void operator()(hwloc_topology* topology) const noexcept { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, TopologyDestroyer>;

enum class TopologyDevices { Left, Kept };

/// xml: a file that hwloc exported, in place of this machine; empty: this machine. Null where it cannot be read.
Topology loadTopology(const Path& xml, TopologyDevices devices = TopologyDevices::Left);

} // namespace millrace
