#include "train/embedding_program.h"

#include "train/device_tables.h"
#include "train/host_tables.h"

#include <algorithm>

namespace millrace {

EmbeddingProgram::EmbeddingProgram(const ModelSpec& spec, const RunShape& shape, const TensorStore& store)
    : m_scale(shape.activationType() == DType::BF16 ? toFloat(toBFloat16(static_cast<float>(spec.embeddingScale)))
                                                    : static_cast<float>(spec.embeddingScale)),
      m_table(*findBlock(store.blocks(), BlockKind::Embedding)),
      m_positions(findBlock(store.blocks(), BlockKind::Positions)) {}

std::vector<std::int32_t>
EmbeddingProgram::rowsOfStep(const std::vector<std::shared_ptr<const PreparedMicroBatch>>& batch) {
  std::vector<std::int32_t> rows;
  for (const auto& micro : batch) rows.insert(rows.end(), micro->rowTokens.begin(), micro->rowTokens.end());
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

std::unique_ptr<EmbeddingProgram> makeEmbeddingProgram(const ModelSpec& spec, const MemoryPlan& plan,
                                                       const PlannedMemory& memory, const TensorStore& store,
                                                       Streams& streams, ThreadPool& pool, const TensorView& squares) {
  if (tablesHome(plan.homes.back()) == UnitHome::Device)
    return std::make_unique<DeviceTables>(spec, plan, memory, store, streams, squares);
  return std::make_unique<HostTables>(spec, plan, memory, store, streams, pool);
}

} // namespace millrace
