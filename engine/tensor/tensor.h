// DType, Shape and TensorView: how kernels see memory that somebody else owns.
#pragma once

#include "base/bf16.h"
#include "base/units.h"

#include <array>
#include <cassert>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace millrace {

enum class DType : std::uint8_t { F32, BF16, F64, I32, U16, I16 };

Bytes bytesPerElement(DType dtype);
std::string_view toString(DType dtype);

template <class T>
constexpr DType dtypeOf();
template <>
constexpr DType dtypeOf<float>() {
  return DType::F32;
}
template <>
constexpr DType dtypeOf<BFloat16>() {
  return DType::BF16;
}
template <>
constexpr DType dtypeOf<double>() {
  return DType::F64;
}
template <>
constexpr DType dtypeOf<std::int32_t>() {
  return DType::I32;
}
template <>
constexpr DType dtypeOf<std::uint16_t>() {
  return DType::U16;
}
template <>
constexpr DType dtypeOf<std::int16_t>() {
  return DType::I16;
}

/// Up to four dimensions, outermost first.
class Shape {
 public:
  static constexpr int maxRank = 4;

  Shape() = default;
  Shape(std::initializer_list<std::int64_t> dims);

  int rank() const { return m_rank; }
  /// Negative indices count from the end.
  std::int64_t operator[](int i) const { return m_dims[static_cast<std::size_t>(i < 0 ? i + m_rank : i)]; }
  std::int64_t elements() const;
  bool operator==(const Shape& other) const;
  std::string toString() const; ///< "(2, 48, 64)"

 private:
  std::array<std::int64_t, maxRank> m_dims{};
  int m_rank = 0;
};

/// A typed, strided window on memory. Never owns; the innermost dimension is always contiguous.
struct TensorView {
  void* data = nullptr;
  DType dtype = DType::F32;
  Shape shape;
  std::array<std::int64_t, Shape::maxRank> strides{}; ///< in elements, one per dimension

  TensorView() = default;
  /// Contiguous.
  TensorView(void* memory, DType type, Shape dims);

  bool valid() const { return data != nullptr; }
  bool contiguous() const;
  Bytes bytes() const { return shape.elements() * bytesPerElement(dtype); }

  /// The typed pointer; T must be the dtype's type.
  template <class T>
  T* as() const {
    assert(dtype == dtypeOf<T>());
    return static_cast<T*>(data);
  }

  /// Rows [begin, begin + count) of the outermost dimension.
  TensorView rows(std::int64_t begin, std::int64_t count) const;
  /// Columns [begin, begin + count) of the innermost dimension.
  TensorView columns(std::int64_t begin, std::int64_t count) const;
  /// The same contiguous memory with another shape of as many elements.
  TensorView reshaped(Shape dims) const;
  /// The innermost dimension split into (outer, inner), strides kept: (T, H*D) as (T, H, D).
  TensorView splitLast(std::int64_t outer, std::int64_t inner) const;
};

} // namespace millrace
