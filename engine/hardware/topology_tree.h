// hwloc's tree as engine/topology.h tells it.
#pragma once

#include "base/file.h"
#include "engine/topology.h"

namespace millrace {

/// topologyXml: a file that hwloc exported, in place of this machine; empty: this machine.
TopologyNode readTopologyTree(const HardwareProfile& profile, const Path& topologyXml);

} // namespace millrace
