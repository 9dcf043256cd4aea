#include "hardware/numa.h"

#include <hwloc.h>
#include <memory>

namespace millrace {

std::function<bool(void*, Bytes)> preferNode(int node) {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return {};
  const std::shared_ptr<hwloc_topology> topology(raw, [](hwloc_topology_t loaded) { hwloc_topology_destroy(loaded); });
  if (hwloc_topology_load(raw) != 0) return {};
  const hwloc_obj_t found = hwloc_get_numanode_obj_by_os_index(raw, static_cast<unsigned>(node));
  if (!found) return {};
  // Without the strict flag a node that is full gives way to others.
  return [topology, set = found->nodeset](void* data, Bytes bytes) {
    return hwloc_set_area_membind(topology.get(), data, static_cast<std::size_t>(bytes), set, HWLOC_MEMBIND_BIND,
                                  HWLOC_MEMBIND_BYNODESET) == 0;
  };
}

} // namespace millrace
