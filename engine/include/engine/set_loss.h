// How well one of the sets that data is made of was predicted.
#pragma once

#include <cstdint>
#include <string>

namespace millrace {

struct SetLoss {
  std::string name; ///< empty: documents that name no set
  double loss = 0;  ///< mean over the set's targets, nats
  double perplexity = 0;
  double bitsPerByte = 0;   ///< of the text that the targets stand for; 0 when that is not known
  std::int64_t targets = 0; ///< at least 1

  bool operator==(const SetLoss&) const = default;
};

} // namespace millrace
