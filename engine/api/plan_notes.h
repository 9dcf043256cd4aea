// What a person should know of a plan besides its figures. Pure.
#pragma once

#include "api/planning.h"

namespace millrace {

/// report: complete but for its notes.
std::vector<std::string> notesOf(const Planning& planning, const Project& project, const PlanOptions& options,
                                 const PlannedStep& step, const StepRates& rates, const PlanReport& report);

} // namespace millrace
