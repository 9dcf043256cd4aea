// The tensors of a block as reference cases know them: what files hold for each expert alone is one tensor there.
#pragma once

#include "model/blocks.h"

#include <string>
#include <vector>

namespace millrace {

struct GoldenTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  std::int64_t offset = 0; ///< first element in the block
  std::int64_t elements = 0;
};

std::vector<GoldenTensor> goldenTensors(const BlockSpec& block);

} // namespace millrace
