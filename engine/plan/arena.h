// Packing of temporaries into one buffer by their lifetimes: two that never live at once may share bytes. Pure.
#pragma once

#include "base/units.h"

#include <vector>

namespace millrace {

struct Temporary {
  Bytes bytes = 0;
  int first = 0; ///< stage that writes it
  int last = 0;  ///< stage that reads it last
};

struct ArenaPacking {
  std::vector<Bytes> offsets; ///< one per temporary, multiples of operandAlignment
  Bytes bytes = 0;
};

/// First fit, largest first; the same input gives the same packing.
ArenaPacking packArena(const std::vector<Temporary>& temporaries);

} // namespace millrace
