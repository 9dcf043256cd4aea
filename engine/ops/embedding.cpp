#include "ops/embedding.h"

#include "device/device.h"
#include "ops/checks.h"

namespace millrace::ops {

void embedding(Stream& stream, const EmbeddingArgs& args) {
  const Checks check("embedding");
  check.tensor("x", args.x, {DType::F32, DType::BF16}, 2, 2);
  const std::int64_t tokens = args.x.shape[0], width = args.x.shape[1];
  check.tensor("table", args.table, {args.x.dtype}, 2, 2);
  check.tensor("table", args.table, {args.x.dtype}, {args.table.shape[0], width});
  check.tensor("ids", args.ids, {DType::I32}, {tokens});
  check.that(args.positionTable.valid() == args.positionIds.valid(),
             "positionTable and positionIds come together or not at all");
  if (args.positionTable.valid()) {
    check.tensor("positionTable", args.positionTable, {args.x.dtype}, 2, 2);
    check.tensor("positionTable", args.positionTable, {args.x.dtype}, {args.positionTable.shape[0], width});
    check.tensor("positionIds", args.positionIds, {DType::I32}, {tokens});
  }
  check.apart("x", args.x, "table", args.table);
  check.apart("x", args.x, "positionTable", args.positionTable);
  stream.device().kernels().embedding(stream, args);
}

void embeddingBackward(Stream& stream, const EmbeddingBackwardArgs& args) {
  const Checks check("embeddingBackward");
  check.tensor("dX", args.dX, {DType::F32, DType::BF16}, 2, 2);
  check.tensor("dTable", args.dTable, {DType::F32}, 2, 2);
  check.tensor("dTable", args.dTable, {DType::F32}, {args.dTable.shape[0], args.dX.shape[1]});
  check.tensor("order", args.order, {DType::I32}, {args.dX.shape[0]});
  check.tensor("starts", args.starts, {DType::I32}, {args.dTable.shape[0] + 1});
  check.apart("dTable", args.dTable, "dX", args.dX);
  stream.device().kernels().embeddingBackward(stream, args);
}

void addRows(Stream& stream, const AddRowsArgs& args) {
  const Checks check("addRows");
  check.tensor("source", args.source, {DType::F32}, 2, 2);
  check.tensor("target", args.target, {DType::F32}, 2, 2);
  check.tensor("target", args.target, {DType::F32}, {args.target.shape[0], args.source.shape[1]});
  check.that(args.rows.valid() || !args.index.valid(), "an index is of rows");
  if (args.rows.valid())
    check.tensor("rows", args.rows, {DType::I32}, {args.source.shape[0]});
  else
    check.that(args.source.shape[0] <= args.target.shape[0], "source has more rows than target");
  if (args.index.valid()) check.tensor("index", args.index, {DType::I32}, {args.target.shape[0]});
  check.apart("target", args.target, "source", args.source);
  stream.device().kernels().addRows(stream, args);
}

} // namespace millrace::ops
