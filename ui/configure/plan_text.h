// A plan in words. Pure functions; GUI thread (translations).
#pragma once

#include "engine/plan.h"

#include <QString>
#include <utility>
#include <vector>

namespace millrace::ui {

QString verdictText(Verdict verdict);
/// "405,853,388,800 parameters in 126 layers, bf16; 65,536 tokens a step".
QString modelText(const PlanReport& report);
/// Names and values: speed, what the rates are from, step, bound, the whole run, checkpoints, the largest that fits.
std::vector<std::pair<QString, QString>> timeTexts(const PlanReport& report);
/// "Device memory", "Host memory", "NVMe".
QString tierName(const PlannedTier& tier);
/// The tier that lacks the most bytes; nullptr: all fit.
const PlannedTier* worstTier(const PlanReport& report);
/// What an advice brings: "812 tokens/s (+12%), VRAM -1.20 GiB".
QString effectText(const PlanReport& report, const PlanAdvice& advice);
/// The settings that an advice changes, a line each.
QString changesText(const PlanAdvice& advice);

} // namespace millrace::ui
