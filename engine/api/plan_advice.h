// What would make a project fit, or go faster: changes tried one by one, and together where none alone helps.
#pragma once

#include "api/planning.h"

namespace millrace {

/// base: the report of the project as it is, without advice. pace: how much longer a step takes than is predicted, as a
/// rehearsal of the project says. Best first.
std::vector<PlanAdvice> adviceFor(const Planning& planning, const Project& project, const ModelSpec& spec,
                                  const PlanReport& base, const PlanOptions& options, double pace);

} // namespace millrace
