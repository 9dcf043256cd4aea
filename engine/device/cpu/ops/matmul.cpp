#include "device/cpu/ops/matmul.h"

#include "device/cpu/ops/matmul_onednn.h"
#include "device/cpu/ops/matmul_plan.h"
#include "device/cpu/ops/matmul_simd.h"
#include "device/cpu/ops/simd_scratch.h"

#include <algorithm>

namespace millrace::cpu {

namespace {

std::uint16_t* bits(const TensorView& view) {
  return reinterpret_cast<std::uint16_t*>(view.as<BFloat16>());
}

const std::byte* at(const TensorView& view, std::int64_t row, std::int64_t column) {
  return static_cast<const std::byte*>(view.data) + (row * view.strides[0] + column) * bytesPerElement(view.dtype);
}

/// A part of a stored matrix, as op() sees it: rows and columns of op(view).
struct Block {
  std::int64_t row, column, rows, columns;
};

/// op(view)'s block into fp32 rows of the given stride.
void pack(const MatmulSimd& simd, const TensorView& view, bool transposed, const Block& block, float* to,
          std::int64_t toStride) {
  const std::int64_t stride = view.strides[0];
  const std::int64_t offset = transposed ? block.column * stride + block.row : block.row * stride + block.column;
  if (view.dtype == DType::BF16) {
    const std::uint16_t* from = bits(view) + offset;
    if (transposed)
      simd.transposeWiden(from, stride, to, toStride, block.columns, block.rows);
    else
      simd.widen(from, stride, to, toStride, block.rows, block.columns);
  } else {
    const float* from = view.as<float>() + offset;
    if (transposed)
      simd.transpose(from, stride, to, toStride, block.columns, block.rows);
    else
      simd.copy(from, stride, to, toStride, block.rows, block.columns);
  }
}

struct Range {
  std::int64_t begin, count;
};

Range piece(std::int64_t index, std::int64_t size, std::int64_t total) {
  return {index * size, std::min(size, total - index * size)};
}

/// One product and everything its tasks share; lives for the call.
class Product {
 public:
  explicit Product(const MatmulArgs& args) : m_args(args), m_simd(matmulSimd()) {
    m_shape.m = args.c.shape[0];
    m_shape.n = args.c.shape[1];
    m_shape.k = args.transposeA ? args.a.shape[0] : args.a.shape[1];
    m_shape.transposeA = args.transposeA;
    m_shape.transposeB = args.transposeB;
    m_shape.bf16 = args.a.dtype == DType::BF16;
    m_shape.nativeBf16 = m_shape.bf16 && hasNativeBf16();
    m_plan = planMatmul(m_shape);
    // Sums go straight to c where nothing else is added and c holds fp32.
    m_direct = args.c.dtype == DType::F32 && !args.bias.valid() && !args.residual.valid();
  }

  void run(ThreadPool& pool) {
    if (m_shape.m == 0 || m_shape.n == 0) return;
    if (m_plan.depthTiles > 1)
      m_partials = threadScratch(ScratchSlot::Partials, m_plan.depthTiles * m_shape.m * m_shape.n);
    pool.parallelFor(m_plan.tasks(), [this](std::int64_t index) {
      if (m_plan.fewRows)
        dots(index);
      else
        tile(index);
    });
    if (m_plan.depthTiles > 1) {
      const std::int64_t rows = std::max<std::int64_t>(1, 16384 / m_shape.n);
      pool.parallelFor((m_shape.m + rows - 1) / rows,
                       [this, rows](std::int64_t index) { addPartials(piece(index, rows, m_shape.m)); });
    }
  }

 private:
  void tile(std::int64_t index) const {
    const Range columns = piece(index % m_plan.columnTiles, m_plan.tileColumns, m_shape.n);
    index /= m_plan.columnTiles;
    const Range rows = piece(index % m_plan.rowTiles, m_plan.tileRows, m_shape.m);
    const std::int64_t part = index / m_plan.rowTiles;
    const Range depth = piece(part, m_plan.tileDepth, m_shape.k);

    const std::int64_t packedRows = m_plan.packA ? m_plan.tileRows * packedStride(m_plan.blockDepth) : 0;
    const std::int64_t packedPanel = m_plan.packB ? panelColumns * packedStride(m_plan.blockDepth) : 0;
    const bool ownSum = !m_partials && !m_direct;
    const std::int64_t ownSumFloats = ownSum ? m_plan.tileRows * m_plan.tileColumns : 0;
    ScratchPieces pieces(threadScratch(ScratchSlot::Tile, ScratchPieces::rounded(packedRows) +
                                                              ScratchPieces::rounded(packedPanel) + ownSumFloats));
    float* const aRows = pieces.take(packedRows);
    float* const panel = pieces.take(packedPanel);

    float* sum;
    std::int64_t sumStride;
    bool adding = false; // whether the next product is added to what sum holds
    if (m_partials) {
      sumStride = m_shape.n;
      sum = m_partials + (part * m_shape.m + rows.begin) * sumStride + columns.begin;
    } else if (m_direct) {
      sumStride = m_args.c.strides[0];
      sum = m_args.c.as<float>() + rows.begin * sumStride + columns.begin;
      adding = m_args.accumulate;
    } else {
      sumStride = m_plan.tileColumns;
      sum = pieces.take(ownSumFloats);
    }

    if (depth.count <= 0 && !adding) clear(sum, sumStride, rows.count, columns.count);
    for (std::int64_t done = 0; done < depth.count; done += m_plan.blockDepth) {
      const Range block{depth.begin + done, std::min(m_plan.blockDepth, depth.count - done)};
      if (m_shape.nativeBf16)
        multiplyBf16(rows, columns, block, adding, sum, sumStride);
      else
        multiply(rows, columns, block, adding, sum, sumStride, aRows, panel);
      adding = true;
    }
    if (ownSum) finish(sum, sumStride, rows, columns);
  }

  void multiply(Range rows, Range columns, Range depth, bool adding, float* sum, std::int64_t sumStride, float* aRows,
                float* panel) const {
    const float* a = aRows;
    std::int64_t aStride = packedStride(depth.count);
    if (m_plan.packA) {
      pack(m_simd, m_args.a, m_args.transposeA, {rows.begin, depth.begin, rows.count, depth.count}, aRows, aStride);
    } else {
      aStride = m_args.a.strides[0];
      a = m_args.a.as<float>() + rows.begin * aStride + depth.begin;
    }
    if (!m_plan.packB) { // fp32 and transposed: oneDNN is fast on it as it lies
      const std::int64_t bStride = m_args.b.strides[0];
      const float* b = m_args.b.as<float>() + columns.begin * bStride + depth.begin;
      sgemm(false, true, rows.count, columns.count, depth.count, a, aStride, b, bStride, adding, sum, sumStride);
      return;
    }
    for (std::int64_t done = 0; done < columns.count; done += panelColumns) {
      const std::int64_t count = std::min(panelColumns, columns.count - done);
      const std::int64_t column = columns.begin + done;
      // b as it is stored: rows of b^T when transposed, else a narrow slice of b.
      const Block block = m_args.transposeB ? Block{column, depth.begin, count, depth.count}
                                            : Block{depth.begin, column, depth.count, count};
      const std::int64_t panelStride = m_args.transposeB ? packedStride(depth.count) : panelColumns;
      pack(m_simd, m_args.b, false, block, panel, panelStride);
      sgemm(false, m_args.transposeB, rows.count, count, depth.count, a, aStride, panel, panelStride, adding,
            sum + done, sumStride);
    }
  }

  void multiplyBf16(Range rows, Range columns, Range depth, bool adding, float* sum, std::int64_t sumStride) const {
    const std::int64_t aStride = m_args.a.strides[0], bStride = m_args.b.strides[0];
    const std::uint16_t* a =
        bits(m_args.a) + (m_args.transposeA ? depth.begin * aStride + rows.begin : rows.begin * aStride + depth.begin);
    const std::uint16_t* b = bits(m_args.b) + (m_args.transposeB ? columns.begin * bStride + depth.begin
                                                                 : depth.begin * bStride + columns.begin);
    bf16Gemm(m_args.transposeA, m_args.transposeB, rows.count, columns.count, depth.count, a, aStride, b, bStride,
             adding, sum, sumStride);
  }

  /// A few rows of a against a slice of b's rows: bound by reading b once.
  void dots(std::int64_t index) const {
    const Range columns = piece(index, m_plan.tileColumns, m_shape.n);
    const std::int64_t rows = m_shape.m, depth = m_shape.k;
    ScratchPieces pieces(threadScratch(ScratchSlot::Tile, ScratchPieces::rounded(rows * depth) + rows * columns.count));
    float* const a = pieces.take(rows * depth);
    float* const sum = pieces.take(rows * columns.count);
    pack(m_simd, m_args.a, false, {0, 0, rows, depth}, a, depth);
    const std::int64_t bStride = m_args.b.strides[0];
    if (m_shape.bf16) {
      m_simd.dotWiden(a, depth, bits(m_args.b) + columns.begin * bStride, bStride, sum, columns.count, rows,
                      columns.count, depth);
    } else {
      m_simd.dot(a, depth, m_args.b.as<float>() + columns.begin * bStride, bStride, sum, columns.count, rows,
                 columns.count, depth);
    }
    if (m_args.accumulate)
      finish(sum, columns.count, {0, rows}, columns, m_args.c);
    else
      finish(sum, columns.count, {0, rows}, columns);
  }

  void addPartials(Range rows) const {
    const std::int64_t n = m_shape.n, plane = m_shape.m * n;
    float* const first = m_partials + rows.begin * n;
    for (std::int64_t part = 1; part < m_plan.depthTiles; ++part) {
      const MatmulEpilogue add{.sum = first,
                               .sumStride = n,
                               .residual = first + part * plane,
                               .residualStride = n,
                               .c = first,
                               .cStride = n,
                               .rows = rows.count,
                               .columns = n};
      m_simd.epilogue(add);
    }
    if (m_args.accumulate)
      finish(first, n, rows, {0, n}, m_args.c);
    else
      finish(first, n, rows, {0, n});
  }

  void finish(const float* sum, std::int64_t sumStride, Range rows, Range columns) const {
    finish(sum, sumStride, rows, columns, m_args.residual);
  }

  /// residual: what is added to the sum, which is c itself when accumulating.
  void finish(const float* sum, std::int64_t sumStride, Range rows, Range columns, const TensorView& residual) const {
    MatmulEpilogue epilogue{.sum = sum, .sumStride = sumStride, .rows = rows.count, .columns = columns.count};
    if (m_args.bias.valid()) {
      epilogue.bias =
          static_cast<const std::byte*>(m_args.bias.data) + columns.begin * bytesPerElement(m_args.bias.dtype);
      epilogue.operandsBf16 = m_args.bias.dtype == DType::BF16;
    }
    if (residual.valid()) {
      epilogue.residual = at(residual, rows.begin, columns.begin);
      epilogue.residualStride = residual.strides[0];
      epilogue.operandsBf16 = residual.dtype == DType::BF16;
    }
    epilogue.c = const_cast<std::byte*>(at(m_args.c, rows.begin, columns.begin));
    epilogue.cStride = m_args.c.strides[0];
    epilogue.cBf16 = m_args.c.dtype == DType::BF16;
    m_simd.epilogue(epilogue);
  }

  static void clear(float* sum, std::int64_t stride, std::int64_t rows, std::int64_t columns) {
    for (std::int64_t r = 0; r < rows; ++r) std::fill_n(sum + r * stride, columns, 0.0f);
  }

  const MatmulArgs& m_args;
  const MatmulSimd& m_simd;
  MatmulShape m_shape;
  MatmulPlan m_plan;
  bool m_direct = false;
  float* m_partials = nullptr; // (depthTiles, m, n)
};

} // namespace

void matmul(ThreadPool& pool, const MatmulArgs& args) {
  Product(args).run(pool);
}

} // namespace millrace::cpu
