#include "api/plan_largest.h"

#include "engine/model_presets.h"
#include "model/config_import.h"

#include <algorithm>
#include <functional>

namespace millrace {

namespace {

/// The greatest whole number up to `most` that has the property, which small numbers have sooner than large ones; 0:
/// none has.
std::int64_t greatest(std::int64_t most, const std::function<bool(std::int64_t)>& has) {
  if (!has(1)) return 0;
  std::int64_t least = 1, first = 2;
  while (first < most && has(first)) {
    least = first;
    first *= 2;
  }
  first = std::min(first, most);
  if (has(first)) return first;
  while (first - least > 1) {
    const std::int64_t middle = least + (first - least) / 2;
    (has(middle) ? least : first) = middle;
  }
  return least;
}

constexpr std::int64_t contextStep = 128;
constexpr std::int64_t mostMicroBatch = 1 << 16;

} // namespace

PlannedLargest largestOf(const Planning& planning, const Project& project, const ModelSpec& spec) {
  PlannedLargest largest;
  const auto fitsWith = [&](const auto& change) {
    Project changed = project;
    change(changed);
    return planning.fits(changed, spec);
  };
  // As far as the model's positions go: beyond them it would be another model.
  largest.context =
      contextStep * greatest(std::max<std::int64_t>(1, spec.maxPositions / contextStep), [&](std::int64_t n) {
        return fitsWith([&](Project& changed) { changed.training.context = n * contextStep; });
      });
  largest.microBatch = greatest(mostMicroBatch, [&](std::int64_t n) {
    return fitsWith([&](Project& changed) { changed.training.microBatch = n; });
  });
  const auto modelFits = [&](double parameters) {
    const auto config = modelOfSize(parameters);
    if (!config) return false;
    const auto json = parseJson(config->text, "model");
    if (!json) return false;
    const auto other = modelSpecFromConfig(*json, "model");
    return other && project.training.context <= other->maxPositions && planning.fits(project, *other);
  };
  // Two significant digits say as much as anybody plans by.
  double least = 0, factor = 1;
  for (double size = leastModelSize; size <= greatestModelSize && modelFits(size); size *= 2) least = size;
  for (int i = 0; least > 0 && i < 6; ++i) {
    factor = i == 0 ? 1.5 : 1 + (factor - 1) / 2;
    if (least * factor <= greatestModelSize && modelFits(least * factor)) least *= factor;
  }
  // Other shapes of the same size may need more: what is asked about counts as well.
  largest.parameters =
      planning.fits(project, spec) ? std::max(least, static_cast<double>(parameterCount(spec))) : least;
  return largest;
}

} // namespace millrace
