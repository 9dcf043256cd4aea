#include "ops/route.h"

#include "device/device.h"
#include "ops/checks.h"

#include <fmt/format.h>

namespace millrace::ops {

namespace {
void checkChoices(const Checks& check, const TensorView& logits, const TensorView& experts, const TensorView& weights,
                  const TensorView& rows) {
  check.tensor("logits", logits, {DType::F32}, 2, 2);
  check.tensor("experts", experts, {DType::I32}, 2, 2);
  const Shape choices{logits.shape[0], experts.shape[1]};
  check.tensor("experts", experts, {DType::I32}, choices);
  check.tensor("weights", weights, {DType::F32}, choices);
  check.tensor("rows", rows, {DType::I32}, choices);
  for (const auto& [name, view] :
       {std::pair{"logits", logits}, {"experts", experts}, {"weights", weights}, {"rows", rows}})
    check.contiguous(name, view);
  check.that(logits.shape[1] <= RouteArgs::mostExperts,
             fmt::format("{} experts, at most {} are possible", logits.shape[1], RouteArgs::mostExperts));
  check.that(choices[1] >= 1 && choices[1] <= logits.shape[1],
             fmt::format("{} of {} experts cannot be chosen", choices[1], logits.shape[1]));
}
} // namespace

void route(Stream& stream, const RouteArgs& args) {
  const Checks check("route");
  checkChoices(check, args.logits, args.experts, args.weights, args.rows);
  const Shape choices{args.experts.shape.elements()};
  check.tensor("tokens", args.tokens, {DType::I32}, choices);
  check.tensor("rowWeights", args.rowWeights, {DType::F32}, choices);
  check.tensor("begins", args.begins, {DType::I32}, {args.logits.shape[1] + 1});
  stream.device().kernels().route(stream, args);
}

void routeBackward(Stream& stream, const RouteBackwardArgs& args) {
  const Checks check("routeBackward");
  checkChoices(check, args.logits, args.experts, args.weights, args.rows);
  check.tensor("dRowWeights", args.dRowWeights, {DType::F32}, {args.experts.shape.elements()});
  check.tensor("dLogits", args.dLogits, {DType::F32, DType::BF16}, args.logits.shape);
  check.contiguous("dLogits", args.dLogits);
  check.apart("dLogits", args.dLogits, "logits", args.logits);
  stream.device().kernels().routeBackward(stream, args);
}

} // namespace millrace::ops
