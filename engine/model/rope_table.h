// Cosines and sines of rotary positions, as transformers computes them for each kind of scaling. Pure functions.
#pragma once

#include "base/result.h"
#include "model/model_spec.h"

#include <vector>

namespace millrace {

/// Elements of a head that rotate (even).
std::int64_t rotaryDim(const RopeSpec& rope, std::int64_t headDim);

/// Whether the model's positions can be computed for so many tokens. Rotary ones can, past what a model was trained
/// for; learned ones end, and those of dynamic scaling and longrope would change with the length of each sequence.
Status checkPositions(const ModelSpec& spec, std::int64_t tokens);

/// The rotaryDim/2 angles per position, fp32. maxPositions: the model's; sequenceLength: what Dynamic scaling is
/// computed for (shorter than maxPositions counts as maxPositions), and by which LongRope chooses its set; the other
/// kinds do not depend on it.
std::vector<float> ropeInverseFrequencies(const RopeSpec& rope, std::int64_t headDim, std::int64_t maxPositions,
                                          std::int64_t sequenceLength);

/// What cosines and sines are multiplied by: 1 except for Yarn and LongRope.
float ropeAttentionFactor(const RopeSpec& rope);

/// (positions, rotaryDim) fp32: row p holds rotaryDim/2 cosines, then rotaryDim/2 sines, multiplied by the kind's
/// attention factor.
std::vector<float> ropeTable(const RopeSpec& rope, std::int64_t headDim, std::int64_t positions,
                             std::int64_t maxPositions, std::int64_t sequenceLength);

} // namespace millrace
