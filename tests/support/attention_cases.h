// What attention tests on every device go through: sizes, windows, documents and layouts, and tensors for each.
#pragma once

#include "device/kernels.h"
#include "support/attention_reference.h"
#include "support/matmul_tensors.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace millrace::test {

enum class Documents { One, Two, Many };

/// A row of a test table.
struct AttentionCase {
  const char* name;
  std::int64_t batch, queries, keys, heads, kvHeads, headSize;
  std::int64_t window = 0;
  Documents documents = Documents::One;
  bool fused = false; // q, k and v side by side in one row
  DType dtype = DType::F32;
  double softcap = 0;
};

/// The case with scores kept within a bound.
constexpr AttentionCase capped(AttentionCase the, double softcap) {
  the.softcap = softcap;
  return the;
}

inline std::vector<std::int32_t> documentStarts(const AttentionCase& the) {
  std::vector<std::int32_t> starts;
  if (the.documents == Documents::One) return starts;
  for (std::int64_t b = 0; b < the.batch; ++b) {
    Random random(77, static_cast<std::uint64_t>(b));
    std::int64_t start = 0, next = the.documents == Documents::Two ? the.keys / 2 + b : 1;
    for (std::int64_t t = 0; t < the.keys; ++t) {
      if (t == next) {
        start = t;
        // Many: lengths from 1 on, some longer than a tile. Two: the second is the last.
        next = the.documents == Documents::Two
                   ? the.keys
                   : t + 1 + static_cast<std::int64_t>(random.below(random.below(4) ? 20 : 170));
      }
      starts.push_back(static_cast<std::int32_t>(start));
    }
  }
  return starts;
}

/// (B, T, heads, D) starting at a column of rows that hold the tokens of all sequences, skipping some of each.
inline TensorView headsView(const MatrixBuffer& rows, std::int64_t batch, std::int64_t column, std::int64_t skip,
                            std::int64_t heads, std::int64_t size) {
  TensorView view = rows.view();
  const std::int64_t tokens = rows.rows() / batch, stride = view.strides[0];
  view.data = static_cast<std::byte*>(view.data) + (skip * stride + column) * bytesPerElement(view.dtype);
  view.shape = Shape{batch, tokens - skip, heads, size};
  view.strides = {tokens * stride, stride, size, 1};
  return view;
}

/// Inputs, gradients and results of a case, all in memory of their own or fused. Results hold NaN until they are
/// written.
struct AttentionTensors {
  MatrixBuffer qRows, kRows, vRows, dQRows, dKRows, dVRows; // only the first of each three when fused
  MatrixBuffer outRows, dOutRows, lseRows, scratchRows;
  TensorView q, k, v, dQ, dK, dV, out, dOut, lse, scratch, documentStart;
  AttentionProblem problem;

  explicit AttentionTensors(const AttentionCase& the, double range = 1.0) {
    problem = {the.batch,
               the.queries,
               the.keys,
               the.heads,
               the.kvHeads,
               the.headSize,
               1.0 / std::sqrt(static_cast<double>(the.headSize)),
               the.window,
               documentStarts(the),
               the.softcap};
    const std::int64_t d = the.headSize, tokens = the.batch * the.keys, skip = the.keys - the.queries;
    const std::int64_t qWidth = the.heads * d, kvWidth = the.kvHeads * d;
    const auto rows = [&](std::int64_t columns, std::uint64_t seed) {
      MatrixBuffer buffer(the.dtype, tokens, columns, columns + (the.fused ? 24 : 0));
      buffer.randomize(seed, range);
      return buffer;
    };
    if (the.fused) {
      qRows = rows(qWidth + 2 * kvWidth, 1);
      dQRows = rows(qWidth + 2 * kvWidth, 4);
      q = headsView(qRows, the.batch, 0, skip, the.heads, d);
      k = headsView(qRows, the.batch, qWidth, 0, the.kvHeads, d);
      v = headsView(qRows, the.batch, qWidth + kvWidth, 0, the.kvHeads, d);
      dQ = headsView(dQRows, the.batch, 0, skip, the.heads, d);
      dK = headsView(dQRows, the.batch, qWidth, 0, the.kvHeads, d);
      dV = headsView(dQRows, the.batch, qWidth + kvWidth, 0, the.kvHeads, d);
    } else {
      qRows = rows(qWidth, 1);
      kRows = rows(kvWidth, 2);
      vRows = rows(kvWidth, 3);
      dQRows = rows(qWidth, 4);
      dKRows = rows(kvWidth, 5);
      dVRows = rows(kvWidth, 6);
      q = headsView(qRows, the.batch, 0, skip, the.heads, d);
      k = headsView(kRows, the.batch, 0, 0, the.kvHeads, d);
      v = headsView(vRows, the.batch, 0, 0, the.kvHeads, d);
      dQ = headsView(dQRows, the.batch, 0, skip, the.heads, d);
      dK = headsView(dKRows, the.batch, 0, 0, the.kvHeads, d);
      dV = headsView(dVRows, the.batch, 0, 0, the.kvHeads, d);
    }
    outRows = MatrixBuffer(the.dtype, the.batch * the.queries, qWidth, qWidth + (the.fused ? 8 : 0));
    dOutRows = MatrixBuffer(the.dtype, the.batch * the.queries, qWidth, qWidth + (the.fused ? 8 : 0));
    dOutRows.randomize(7);
    out = headsView(outRows, the.batch, 0, 0, the.heads, d);
    dOut = headsView(dOutRows, the.batch, 0, 0, the.heads, d);
    lseRows = MatrixBuffer(DType::F32, the.batch * the.heads, the.queries);
    lse = TensorView(lseRows.view().data, DType::F32, {the.batch, the.heads, the.queries});
    scratchRows = MatrixBuffer(DType::F32, the.batch * the.queries, the.heads * (d + 1)); // NaN throughout
    scratch = TensorView(scratchRows.view().data, DType::F32, {the.batch, the.queries, the.heads, d + 1});
    if (!problem.documentStart.empty()) {
      documentStart = TensorView(problem.documentStart.data(), DType::I32, {the.batch, the.keys});
    }
  }

  AttentionArgs forwardArgs() const {
    return {.q = q,
            .k = k,
            .v = v,
            .out = out,
            .lse = lse,
            .documentStart = documentStart,
            .scale = static_cast<float>(problem.scale),
            .window = problem.window,
            .softcap = static_cast<float>(problem.softcap)};
  }
  AttentionBackwardArgs backwardArgs() const {
    return {.dOut = dOut,
            .q = q,
            .k = k,
            .v = v,
            .out = out,
            .lse = lse,
            .documentStart = documentStart,
            .dQ = dQ,
            .dK = dK,
            .dV = dV,
            .scratch = scratch,
            .scale = static_cast<float>(problem.scale),
            .window = problem.window,
            .softcap = static_cast<float>(problem.softcap)};
  }
  bool gapsUntouched() const {
    for (const MatrixBuffer* rows : {&qRows, &dQRows, &outRows, &dOutRows, &lseRows, &scratchRows}) {
      if (!rows->gapsUntouched()) return false;
    }
    return true;
  }
};

/// Of training: as many queries as keys.
inline const std::vector<AttentionCase>& attentionCases() {
  static const std::vector<AttentionCase> table = {
      {"one token", 1, 1, 1, 1, 1, 8},
      {"D 8", 1, 37, 37, 2, 2, 8},
      {"D 16", 2, 65, 65, 3, 3, 16},
      {"D 48", 1, 129, 129, 2, 2, 48},
      {"D 64", 1, 200, 200, 2, 2, 64},
      {"D 128", 1, 150, 150, 2, 2, 128},
      {"D 256", 1, 140, 140, 1, 1, 256},
      {"D 12", 1, 70, 70, 2, 2, 12},
      {"fused", 2, 130, 130, 3, 3, 16, 0, Documents::One, true},
      {"grouped", 1, 150, 150, 4, 2, 16},
      {"grouped by 3, fused", 2, 140, 140, 6, 2, 48, 0, Documents::One, true},
      {"one kv head of 10", 1, 67, 67, 10, 1, 16},
      {"many pairs", 3, 100, 100, 4, 4, 16},
      {"many pairs, grouped, fused", 4, 140, 140, 6, 3, 16, 0, Documents::Many, true},
      {"window 1", 1, 140, 140, 2, 2, 16, 1},
      {"window 10", 1, 300, 300, 2, 1, 16, 10},
      {"window 130", 1, 300, 300, 2, 2, 16, 130},
      {"window wider than the row", 1, 90, 90, 2, 2, 16, 500},
      {"window, many pairs", 2, 260, 260, 4, 4, 8, 50},
      {"two documents", 2, 150, 150, 2, 2, 16, 0, Documents::Two},
      {"many documents", 2, 300, 300, 2, 1, 16, 0, Documents::Many},
      {"many documents, window, fused", 2, 300, 300, 2, 2, 16, 37, Documents::Many, true},
      {"many documents, many pairs", 4, 260, 260, 4, 2, 16, 0, Documents::Many},
      capped({"softcap", 1, 150, 150, 2, 2, 16}, 0.3),
      capped({"softcap, many pairs, documents, window, fused", 4, 140, 140, 6, 3, 16, 50, Documents::Many, true}, 0.5),
      capped({"softcap, D 256", 1, 140, 140, 2, 1, 256}, 0.2),
  };
  return table;
}

/// Of generation: some queries and a cache.
inline const std::vector<AttentionCase>& attentionGenerationCases() {
  static const std::vector<AttentionCase> table = {
      {"one query of 1", 1, 1, 1, 4, 2, 16},
      {"one query of 200", 1, 1, 200, 4, 4, 64},
      {"one query, grouped, fused", 2, 1, 301, 8, 2, 64, 0, Documents::One, true},
      {"one query, window", 1, 1, 400, 4, 2, 16, 100},
      {"few queries", 1, 5, 133, 4, 2, 16},
      capped({"few queries, softcap", 1, 5, 133, 4, 2, 16}, 0.3),
      {"half", 2, 100, 200, 2, 2, 48},
      {"half, documents, window", 2, 150, 300, 4, 2, 16, 60, Documents::Many, true},
  };
  return table;
}

} // namespace millrace::test
