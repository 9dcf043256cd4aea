// A plan as a table for people: verdict, tiers with what takes them, time, what the run comes to, advice.
#pragma once

#include "console.h"
#include "engine/plan.h"

namespace millrace::cli {

void printPlan(Console& console, const PlanReport& report);

/// "3.2 years", "12 days", "4 h 20 min": as precise as it is worth.
std::string formatDuration(double seconds);

} // namespace millrace::cli
