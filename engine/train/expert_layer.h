// A mixture of experts in the place of a layer's MLP. Each token goes to the experts that its router likes best; the
// rows of all choices lie sorted by expert, so that there are always as many, however tokens are spread, and each
// expert's products go over its own rows. Stages are those of the layer program.
#pragma once

#include "device/stream.h"
#include "model/model_spec.h"
#include "train/bound_layer.h"

namespace millrace {

/// Stage 8, routing with it.
void expertsUp(Stream& stream, const BoundLayer& b, const ExpertsSpec& spec);

/// Stages 10 and 11: out (T, H) = the residual and the experts' outputs, weighed.
void expertsOutput(Stream& stream, const BoundLayer& b, const TensorView& out);

/// Stage 13: the gradients of what the activations made and of the weights, and those of the last matrices, which are
/// added to. carrier (T, H): gradient of the layer's output. Leaves Inner weighed.
void expertsDownBackward(Stream& stream, const BoundLayer& b, const TensorView& carrier);

/// Stage 15: dMid (T, H), the gradient of what the router and the experts read; their gradients are added to.
void expertsUpBackward(Stream& stream, const BoundLayer& b, const ExpertsSpec& spec);

} // namespace millrace
