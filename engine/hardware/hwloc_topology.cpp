#include "hardware/hwloc_topology.h"

namespace millrace {

Topology loadTopology(const Path& xml, TopologyDevices devices) {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return nullptr;
  Topology topology(raw);
  if (devices == TopologyDevices::Kept) hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  if (!xml.empty() && hwloc_topology_set_xml(raw, xml.c_str()) != 0) return nullptr;
  if (hwloc_topology_load(raw) != 0) return nullptr;
  return topology;
}

} // namespace millrace
