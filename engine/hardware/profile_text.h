// A HardwareProfile and what can be used of it as tables for people. Pure functions.
#pragma once

#include "engine/tier_budgets.h"
#include "hardware/profile_json.h"

#include <string>

namespace millrace {

/// Lines of "name  value", ending with a newline. GPU notices are the caller's to add.
std::string hardwareTable(const HardwareProfile& profile);

/// What can be used of each memory, in such lines. budgets: of the same profile.
std::string budgetTable(const HardwareProfile& profile, const TierBudgets& budgets);
Json toJson(const TierBudgets& budgets);

/// "SSE4.2, AVX2, AVX-512"; "none" when there is none.
std::string describeInstructionSets(const InstructionSets& sets);

} // namespace millrace
