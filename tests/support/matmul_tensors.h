// Tensors for kernel tests: rows strided inside a larger buffer whose gaps hold a value that kernels must leave alone,
// filled from a seed, readable as float64.
#pragma once

#include "base/random.h"
#include "tensor/tensor.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

namespace millrace::test {

/// A (rows, columns) matrix, or any shape in row-major order over one with strided rows. Move-only; the memory is
/// aligned as the engine's buffers are, plus an offset of whole elements when asked for.
class MatrixBuffer {
 public:
  MatrixBuffer() = default;
  MatrixBuffer(DType dtype, std::int64_t rows, std::int64_t columns, std::int64_t stride = 0, std::int64_t offset = 0)
      : m_dtype(dtype), m_rows(rows), m_columns(columns), m_stride(stride > 0 ? stride : columns), m_offset(offset) {
    m_bytes = static_cast<std::size_t>(alignUp((m_rows * m_stride + m_offset + 1) * bytesPerElement(dtype)));
    m_data.reset(static_cast<std::byte*>(::operator new (m_bytes, std::align_val_t{operandAlignment})));
    std::memset(m_data.get(), gap, m_bytes);
  }

  /// Uniform in [-1, 1), the same for the same seed whatever stride and offset are.
  MatrixBuffer& randomize(std::uint64_t seed, double scale = 1.0) {
    Random random(seed);
    for (std::int64_t r = 0; r < m_rows; ++r) {
      for (std::int64_t c = 0; c < m_columns; ++c) set(r, c, scale * (2.0 * random.uniform() - 1.0));
    }
    return *this;
  }

  void set(std::int64_t row, std::int64_t column, double value) {
    const std::int64_t i = index(row, column);
    if (m_dtype == DType::BF16)
      reinterpret_cast<BFloat16*>(m_data.get())[i] = toBFloat16(static_cast<float>(value));
    else
      reinterpret_cast<float*>(m_data.get())[i] = static_cast<float>(value);
  }

  double get(std::int64_t row, std::int64_t column) const {
    const std::int64_t i = index(row, column);
    if (m_dtype == DType::BF16) return static_cast<double>(toFloat(reinterpret_cast<const BFloat16*>(m_data.get())[i]));
    return static_cast<double>(reinterpret_cast<const float*>(m_data.get())[i]);
  }

  TensorView view() const {
    TensorView result(m_data.get() + m_offset * bytesPerElement(m_dtype), m_dtype, {m_rows, m_columns});
    result.strides[0] = m_stride;
    return result;
  }

  /// The values alone, as bytes: for comparing bits.
  std::vector<std::byte> contents() const {
    std::vector<std::byte> result;
    const std::int64_t bytes = m_columns * bytesPerElement(m_dtype);
    for (std::int64_t r = 0; r < m_rows; ++r) {
      const std::byte* row = m_data.get() + index(r, 0) * bytesPerElement(m_dtype);
      result.insert(result.end(), row, row + bytes);
    }
    return result;
  }

  /// Whether everything outside the rows is as it was made.
  bool gapsUntouched() const {
    const std::int64_t size = bytesPerElement(m_dtype);
    std::int64_t checked = 0; // bytes
    const auto untouchedTo = [&](std::int64_t end) {
      for (; checked < end; ++checked) {
        if (m_data.get()[checked] != std::byte{gap}) return false;
      }
      return true;
    };
    for (std::int64_t r = 0; r < m_rows; ++r) {
      if (!untouchedTo(index(r, 0) * size)) return false;
      checked = index(r, m_columns) * size;
    }
    return untouchedTo(static_cast<std::int64_t>(m_bytes));
  }

  std::int64_t rows() const { return m_rows; }
  std::int64_t columns() const { return m_columns; }

 private:
  struct Free {
    void operator()(std::byte* data) const { ::operator delete (data, std::align_val_t{operandAlignment}); }
  };
  static constexpr std::uint8_t gap = 0xFF; // NaN in both dtypes

  std::int64_t index(std::int64_t row, std::int64_t column) const { return m_offset + row * m_stride + column; }

  DType m_dtype = DType::F32;
  std::int64_t m_rows = 0, m_columns = 0, m_stride = 0, m_offset = 0;
  std::size_t m_bytes = 0;
  std::unique_ptr<std::byte, Free> m_data;
};

} // namespace millrace::test
