#include "train/random_batch.h"

namespace millrace {

MicroBatch randomBatch(const ModelSpec& spec, const RunShape& shape, Random& random) {
  MicroBatch batch;
  batch.rows = shape.rows;
  batch.context = shape.context;
  const auto token = [&] {
    return static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(spec.vocabulary)));
  };
  for (std::int64_t row = 0; row < shape.rows; ++row)
    for (std::int32_t t = 0; t < shape.context; ++t) {
      batch.tokens.push_back(token());
      batch.targets.push_back(token());
      batch.positions.push_back(t);
      batch.documentStart.push_back(0);
    }
  return batch;
}

} // namespace millrace
