// From a head size at run time to one of the compiled ones.
#pragma once

#include "device/cuda/ops/attention_tiles.h"

#include <cassert>
#include <cstdint>
#include <type_traits>

namespace millrace::cuda {

/// Calls function(std::integral_constant<int, D>) with the least compiled head size that holds headSize.
template <class Function>
void withHeadSize(std::int64_t headSize, Function&& function) {
  assert(headSize <= matrixHeadSizes.back());
  if (headSize <= 64)
    function(std::integral_constant<int, 64>{});
  else if (headSize <= 80)
    function(std::integral_constant<int, 80>{});
  else if (headSize <= 96)
    function(std::integral_constant<int, 96>{});
  else if (headSize <= 128)
    function(std::integral_constant<int, 128>{});
  else
    function(std::integral_constant<int, 256>{});
}

} // namespace millrace::cuda
