// Post-processors: the control tokens that an encoding gets before and behind it. Immutable, any thread.
#pragma once

#include "base/json_reader.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace millrace {

class PostProcessor {
 public:
  virtual ~PostProcessor() = default;
  /// ids[from...] is the encoding of one text.
  virtual void apply(std::vector<std::int32_t>& ids, std::size_t from) const = 0;
  /// The largest id that it adds; -1: it adds none.
  virtual std::int32_t largestId() const { return -1; }
};

/// Builds what the `post_processor` value of a tokenizer.json describes, for single texts; null for JSON null.
Result<std::unique_ptr<PostProcessor>> makePostProcessor(const Json& description, const std::string& where);

} // namespace millrace
