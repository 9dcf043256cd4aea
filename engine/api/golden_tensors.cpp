#include "api/golden_tensors.h"

#include <fmt/format.h>

namespace millrace {

namespace {

GoldenTensor goldenTensor(std::string name, const Shape& shape, std::int64_t offset) {
  GoldenTensor result{std::move(name), {}, offset, shape.elements()};
  for (int i = 0; i < shape.rank(); ++i) result.shape.push_back(shape[i]);
  return result;
}

} // namespace

std::vector<GoldenTensor> goldenTensors(const BlockSpec& block) {
  std::vector<GoldenTensor> tensors;
  const RoleSpec* router = block.find(Role::RouterWeight);
  const std::string mlp = fmt::format("model.layers.{}.mlp.", block.layer);
  for (const ParameterSpec& parameter : block.parameters) {
    if (router && parameter.offset == router->offset)
      tensors.push_back(goldenTensor(mlp + "gate.weight", parameter.shape, parameter.offset));
    else if (!router || parameter.offset < router->offset)
      tensors.push_back(goldenTensor(parameter.name, parameter.shape, parameter.offset));
  }
  if (!router) return tensors;
  // All of their own role's matrices lie one after the other.
  const RoleSpec& up = *block.find(Role::UpWeight);
  const RoleSpec& down = *block.find(Role::DownWeight);
  tensors.push_back(goldenTensor(mlp + "experts.gate_up_proj", up.shape, up.offset));
  tensors.push_back(goldenTensor(mlp + "experts.down_proj", down.shape, down.offset));
  return tensors;
}

} // namespace millrace
