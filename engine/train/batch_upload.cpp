#include "train/batch_upload.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace millrace {

namespace {

/// Stable order of tokens by key, and where each key's run begins: a counting sort. The tokens of the key `without`
/// are left out: its run is empty.
void sortByKey(const std::vector<std::int32_t>& keys, std::int64_t keyCount, std::int32_t* order, std::int32_t* starts,
               std::int32_t without = -1) {
  std::fill_n(starts, keyCount + 1, 0);
  for (const std::int32_t key : keys) starts[key + 1] += key != without ? 1 : 0;
  for (std::int64_t i = 0; i < keyCount; ++i) starts[i + 1] += starts[i];
  std::vector<std::int32_t> next(starts, starts + keyCount);
  for (std::size_t t = 0; t < keys.size(); ++t)
    if (keys[t] != without) order[next[static_cast<std::size_t>(keys[t])]++] = static_cast<std::int32_t>(t);
}

void check(const char* what, const std::vector<std::int32_t>& values, std::size_t expected, std::int64_t minimum,
           std::int64_t limit) {
  if (values.size() != expected)
    throw EngineException(
        {ErrorKind::BadInput, fmt::format("a micro-batch has {} {}, expected {}", values.size(), what, expected)});
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i] < minimum || values[i] >= limit)
      throw EngineException(
          {ErrorKind::BadInput, fmt::format("{} {} of a micro-batch is {}, expected {} to {}: do the tokenizer and the "
                                            "model belong together?",
                                            what, i, values[i], minimum, limit - 1)});
}

} // namespace

std::shared_ptr<const PreparedMicroBatch> prepareMicroBatch(const ModelSpec& spec, const RunShape& shape,
                                                            const BatchLayout& layout, const MicroBatch& batch) {
  const std::int64_t tokens = batch.rows * batch.context;
  if (batch.rows < 1 || batch.rows > shape.rows || batch.context < 1 || batch.context > shape.context)
    throw EngineException(
        {ErrorKind::BadInput, fmt::format("a micro-batch of {} rows of {} tokens, planned for at most {} of {}",
                                          batch.rows, batch.context, shape.rows, shape.context)});
  const auto count = static_cast<std::size_t>(tokens);
  check("token", batch.tokens, count, 0, spec.vocabulary);
  check("target", batch.targets, count, -1, spec.vocabulary);
  const std::int64_t positions = std::max(batch.context, shape.cacheTokens);
  check("position", batch.positions, count, 0,
        spec.learnedPositions ? std::min(positions, spec.maxPositions) : positions);
  check("document start", batch.documentStart, count, 0, batch.context);

  auto prepared = std::make_shared<PreparedMicroBatch>();
  prepared->rows = batch.rows;
  prepared->context = batch.context;
  prepared->targets = std::count_if(batch.targets.begin(), batch.targets.end(), [](std::int32_t t) { return t >= 0; });
  prepared->positionsUsed = 1 + *std::max_element(batch.positions.begin(), batch.positions.end());
  prepared->rowTokens = batch.tokens;
  std::sort(prepared->rowTokens.begin(), prepared->rowTokens.end());
  prepared->rowTokens.erase(std::unique(prepared->rowTokens.begin(), prepared->rowTokens.end()),
                            prepared->rowTokens.end());

  prepared->staged.resize(static_cast<std::size_t>(layout.bytes));
  const auto at = [&](Bytes offset) { return reinterpret_cast<std::int32_t*>(prepared->staged.data() + offset); };
  std::vector<std::int32_t> rowIds(count);
  for (std::size_t i = 0; i < count; ++i)
    rowIds[i] = static_cast<std::int32_t>(
        std::lower_bound(prepared->rowTokens.begin(), prepared->rowTokens.end(), batch.tokens[i]) -
        prepared->rowTokens.begin());
  std::copy(batch.tokens.begin(), batch.tokens.end(), at(layout.tokens));
  std::copy(rowIds.begin(), rowIds.end(), at(layout.rowIds));
  std::copy(batch.positions.begin(), batch.positions.end(), at(layout.positions));
  std::copy(batch.documentStart.begin(), batch.documentStart.end(), at(layout.documentStart));
  std::copy(batch.targets.begin(), batch.targets.end(), at(layout.targets));
  if (shape.training) {
    const std::vector<std::int32_t>& rows = prepared->rowTokens;
    std::copy(rows.begin(), rows.end(), at(layout.rowTokens));
    const auto padding =
        spec.paddingToken ? std::lower_bound(rows.begin(), rows.end(), *spec.paddingToken) : rows.end();
    const bool padded = padding != rows.end() && *padding == *spec.paddingToken;
    sortByKey(rowIds, static_cast<std::int64_t>(rows.size()), at(layout.order), at(layout.starts),
              padded ? static_cast<std::int32_t>(padding - rows.begin()) : -1);
    if (spec.learnedPositions)
      sortByKey(batch.positions, batch.context, at(layout.positionOrder), at(layout.positionStarts));
  }
  return prepared;
}

BatchViews::BatchViews(const BatchLayout& layout, const PreparedMicroBatch& batch, std::byte* data, bool training,
                       bool learnedPositions) {
  const std::int64_t count = batch.rows * batch.context;
  const auto view = [&](Bytes offset, Shape shape) { return TensorView(data + offset, DType::I32, shape); };
  tokens = view(layout.tokens, {count});
  rowIds = view(layout.rowIds, {count});
  positions = view(layout.positions, {count});
  documentStart = view(layout.documentStart, {batch.rows, batch.context});
  targets = view(layout.targets, {count});
  if (!training) return;
  order = view(layout.order, {count});
  const auto rows = static_cast<std::int64_t>(batch.rowTokens.size());
  starts = view(layout.starts, {rows + 1});
  rowTokens = view(layout.rowTokens, {rows});
  if (!learnedPositions) return;
  positionOrder = view(layout.positionOrder, {count});
  positionStarts = view(layout.positionStarts, {batch.context + 1});
}

} // namespace millrace
