#include "train/expert_layer.h"

#include "ops/ops.h"

namespace millrace {

void expertsUp(Stream& stream, const BoundLayer& b, const ExpertsSpec& spec) {
  using enum LayerTensor;
  b.experts.router.forward(stream, b.mlpInput(), b[RouterLogits]);
  ops::route(stream, {.logits = b[RouterLogits],
                      .experts = b[Experts],
                      .weights = b[ExpertWeights],
                      .rows = b[ExpertRows],
                      .tokens = b[RowTokens],
                      .rowWeights = b[RowWeights],
                      .begins = b[ExpertBegins],
                      .normalize = spec.normalize});
  ops::embedding(
      stream,
      {.table = b.mlpInput(), .ids = b[RowTokens], .x = b[ExpertInput], .positionTable = {}, .positionIds = {}});
  ops::groupedMatmul(
      stream, {.a = b[ExpertInput], .b = b.experts.up, .c = b[Up], .begins = b[ExpertBegins], .transposeB = true});
}

void expertsOutput(Stream& stream, const BoundLayer& b, const TensorView& out) {
  using enum LayerTensor;
  ops::groupedMatmul(
      stream,
      {.a = b[Inner], .b = b.experts.down, .c = b[ExpertOutput], .begins = b[ExpertBegins], .transposeB = true});
  ops::combineRows(
      stream, {.x = b[ExpertOutput], .rows = b[ExpertRows], .weights = b[ExpertWeights], .residual = b[Mid], .y = out});
}

void expertsDownBackward(Stream& stream, const BoundLayer& b, const TensorView& carrier) {
  using enum LayerTensor;
  // out = sum of weight W inner: with g = dOut W, dWeight is g . inner, so that W inner is not needed again; and
  // d inner = weight g, dW = dOut^T (weight inner).
  ops::embedding(
      stream, {.table = carrier, .ids = b[RowTokens], .x = b[DExpertOutput], .positionTable = {}, .positionIds = {}});
  ops::groupedMatmul(stream, {.a = b[DExpertOutput], .b = b.experts.down, .c = b[DInner], .begins = b[ExpertBegins]});
  ops::weighRows(stream, {.dY = b[DInner], .x = b[Inner], .weights = b[RowWeights], .dWeights = b[DRowWeights]});
  ops::groupedWeightGradient(
      stream, {.dY = b[DExpertOutput], .x = b[Inner], .dW = b.experts.downGradient, .begins = b[ExpertBegins]});
}

void expertsUpBackward(Stream& stream, const BoundLayer& b, const ExpertsSpec& spec) {
  using enum LayerTensor;
  const TensorView dUp = b[Up];
  ops::groupedMatmul(stream, {.a = dUp, .b = b.experts.up, .c = b[DExpertInput], .begins = b[ExpertBegins]});
  ops::groupedWeightGradient(stream,
                             {.dY = dUp, .x = b[ExpertInput], .dW = b.experts.upGradient, .begins = b[ExpertBegins]});
  ops::combineRows(stream, {.x = b[DExpertInput], .rows = b[ExpertRows], .weights = {}, .residual = {}, .y = b[DMid]});
  ops::routeBackward(stream, {.dRowWeights = b[DRowWeights],
                              .logits = b[RouterLogits],
                              .experts = b[Experts],
                              .weights = b[ExpertWeights],
                              .rows = b[ExpertRows],
                              .dLogits = b[DRouterLogits],
                              .normalize = spec.normalize});
  b.experts.router.backwardInput(stream, b[DRouterLogits], b[DMid], b[DMid]);
  b.experts.router.backwardWeight(stream, b[DRouterLogits], b.mlpInput());
}

} // namespace millrace
