// Host memory on a NUMA node of one's choice, by hwloc: copies to and from a GPU are fastest from the node that the GPU
// is attached to.
#pragma once

#include "base/units.h"

#include <functional>

namespace millrace {

/// Advises the system of pages that nobody has touched yet: they are to come from the node, and from others when it is
/// full. False: the system does not take the advice (containers may forbid it), and pages come as they always do. Any
/// thread. Empty where there is no such node.
std::function<bool(void* data, Bytes bytes)> preferNode(int node);

} // namespace millrace
