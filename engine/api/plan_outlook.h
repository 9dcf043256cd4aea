// What a run comes to, and whether that is well: time, energy, cost, checkpoints, wear of the drives. The one place
// that judges, for a plan and for the advice to it. Pure functions.
#pragma once

#include "api/planning.h"

namespace millrace {

struct Judgement {
  Verdict verdict = Verdict::Fits;
  std::vector<std::string> reasons; ///< of another verdict than Fits
  PlannedRun run;
};

/// stepSeconds: what a step takes, as predicted or as a rehearsal says.
Judgement judge(const Planning& planning, const Project& project, const ModelSpec& spec, const PlanOutcome& outcome,
                const PlanOptions& options, double stepSeconds);

/// Watts under load: the GPUs that work, and the machine around them. 0: not known.
double powerOf(const Planning& planning);

} // namespace millrace
