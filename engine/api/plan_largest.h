// The largest context, micro-batch and model that would still fit.
#pragma once

#include "api/planning.h"

namespace millrace {

PlannedLargest largestOf(const Planning& planning, const Project& project, const ModelSpec& spec);

} // namespace millrace
