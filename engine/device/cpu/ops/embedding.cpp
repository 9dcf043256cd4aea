#include "device/cpu/ops/embedding.h"

#include "device/cpu/ops/rows.h"
#include "device/cpu/ops/sum_kernels.h"

#include <algorithm>
#include <cassert>

namespace millrace::cpu {

void embedding(ThreadPool& pool, const EmbeddingArgs& args, Isa isa) {
  const std::int64_t width = args.x.shape[1];
  const Bytes bytes = bytesPerElement(args.x.dtype);
  const bool bf16 = args.x.dtype == DType::BF16;
  const auto* ids = args.ids.as<std::int32_t>();
  const auto* positions = args.positionTable.valid() ? args.positionIds.as<std::int32_t>() : nullptr;
  const auto row = [bytes](const TensorView& view, std::int64_t index) {
    assert(index >= 0 && index < view.shape[0]);
    return static_cast<std::byte*>(view.data) + index * view.strides[0] * bytes;
  };
  const Cut cut(args.x.shape[0], 1, std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(1, width)));
  const auto copy = MILLRACE_ISA_FUNCTION(isa, copyRow);
  pool.parallelFor(cut.pieces(), [&](std::int64_t i) {
    const Piece p = cut.piece(i);
    for (std::int64_t t = p.row; t < p.row + p.rows; ++t)
      copy(row(args.table, ids[t]), args.scale, positions ? row(args.positionTable, positions[t]) : nullptr,
           row(args.x, t), bf16, width);
  });
}

void embeddingBackward(ThreadPool& pool, const EmbeddingBackwardArgs& args, Isa isa) {
  const std::int64_t width = args.dX.shape[1];
  const Rows dX = rowsOf(args.dX);
  const bool bf16 = args.dX.dtype == DType::BF16;
  const auto* order = args.order.as<std::int32_t>();
  const auto* starts = args.starts.as<std::int32_t>();
  auto* dTable = args.dTable.as<float>();
  const std::int64_t stride = args.dTable.strides[0];
  // Small pieces: common tokens make some rows far heavier than others.
  const Cut cut(args.dTable.shape[0], 1, std::max<std::int64_t>(1, 4096 / std::max<std::int64_t>(1, width)));
  const auto sumRows = MILLRACE_ISA_FUNCTION(isa, sumListedRows);
  pool.parallelFor(cut.pieces(), [&](std::int64_t i) {
    const Piece p = cut.piece(i);
    for (std::int64_t u = p.row; u < p.row + p.rows; ++u)
      sumRows(dX, bf16, width, order + starts[u], starts[u + 1] - starts[u], args.scale, dTable + u * stride);
  });
}

void addRows(ThreadPool& pool, const AddRowsArgs& args, Isa isa) {
  const std::int64_t width = args.source.shape[1];
  const auto* rows = args.rows.valid() ? args.rows.as<std::int32_t>() : nullptr;
  const auto* index = args.index.valid() ? args.index.as<std::int32_t>() : nullptr;
  const Cut cut(args.source.shape[0], 1, std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(1, width)));
  const auto add = MILLRACE_ISA_FUNCTION(isa, addRows);
  pool.parallelFor(cut.pieces(), [&](std::int64_t i) {
    const Piece p = cut.piece(i);
    for (std::int64_t s = p.row; s < p.row + p.rows; ++s) {
      const std::int64_t named = rows ? rows[s] : s;
      const std::int64_t r = index ? std::lower_bound(index, index + args.index.shape[0], named) - index : named;
      assert(r >= 0 && r < args.target.shape[0]);
      add(args.source.as<float>() + s * args.source.strides[0], 1, 0, width,
          args.target.as<float>() + r * args.target.strides[0]);
    }
  });
}

} // namespace millrace::cpu
