// What a run comes to: time, energy, cost, checkpoints, wear of the drives. Pure functions of its plan.
#pragma once

#include "api/planning.h"

namespace millrace {

/// report: with tiers and time filled in.
PlannedRun outlookOf(const Planning& planning, const Project& project, const PlanReport& report,
                     const PlannedStep& step, const PlanOptions& options);

/// Bytes that the step writes to tier files, over a day of steps of this length.
double writtenPerDay(const PlannedStep& step);

} // namespace millrace
