#include "tensor/tensor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace millrace {

Bytes bytesPerElement(DType dtype) {
  switch (dtype) {
  case DType::F32:
  case DType::I32:
    return 4;
  case DType::F64:
    return 8;
  case DType::BF16:
  case DType::U16:
  case DType::I16:
    return 2;
  }
  return 0;
}

std::string_view toString(DType dtype) {
  switch (dtype) {
  case DType::F32:
    return "fp32";
  case DType::BF16:
    return "bf16";
  case DType::F64:
    return "fp64";
  case DType::I32:
    return "int32";
  case DType::U16:
    return "uint16";
  case DType::I16:
    return "int16";
  }
  return "unknown";
}

Shape::Shape(std::initializer_list<std::int64_t> dims) : m_rank(static_cast<int>(dims.size())) {
  assert(dims.size() <= maxRank);
  std::size_t i = 0;
  for (const std::int64_t dim : dims) m_dims[i++] = dim;
}

std::int64_t Shape::elements() const {
  std::int64_t product = 1;
  for (int i = 0; i < m_rank; ++i) product *= m_dims[static_cast<std::size_t>(i)];
  return product;
}

bool Shape::operator==(const Shape& other) const {
  return m_rank == other.m_rank && m_dims == other.m_dims;
}

std::string Shape::toString() const {
  return fmt::format("({})", fmt::join(m_dims.begin(), m_dims.begin() + m_rank, ", "));
}

TensorView::TensorView(void* memory, DType type, Shape dims) : data(memory), dtype(type), shape(dims) {
  std::int64_t stride = 1;
  for (int i = dims.rank() - 1; i >= 0; --i) {
    strides[static_cast<std::size_t>(i)] = stride;
    stride *= dims[i];
  }
}

bool TensorView::contiguous() const {
  std::int64_t stride = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    if (shape[i] != 1 && strides[static_cast<std::size_t>(i)] != stride) return false;
    stride *= shape[i];
  }
  return true;
}

namespace {
TensorView replaced(const TensorView& view, int dim, std::int64_t begin, std::int64_t count) {
  assert(begin >= 0 && count >= 0 && begin + count <= view.shape[dim]);
  std::array<std::int64_t, Shape::maxRank> dims{};
  for (int i = 0; i < view.shape.rank(); ++i) dims[static_cast<std::size_t>(i)] = view.shape[i];
  dims[static_cast<std::size_t>(dim)] = count;
  TensorView result = view;
  switch (view.shape.rank()) {
  case 1:
    result.shape = Shape{dims[0]};
    break;
  case 2:
    result.shape = Shape{dims[0], dims[1]};
    break;
  case 3:
    result.shape = Shape{dims[0], dims[1], dims[2]};
    break;
  default:
    result.shape = Shape{dims[0], dims[1], dims[2], dims[3]};
    break;
  }
  result.data = static_cast<std::byte*>(view.data) +
                begin * view.strides[static_cast<std::size_t>(dim)] * bytesPerElement(view.dtype);
  return result;
}
} // namespace

TensorView TensorView::rows(std::int64_t begin, std::int64_t count) const {
  return replaced(*this, 0, begin, count);
}

TensorView TensorView::columns(std::int64_t begin, std::int64_t count) const {
  return replaced(*this, shape.rank() - 1, begin, count);
}

TensorView TensorView::reshaped(Shape dims) const {
  assert(contiguous() && dims.elements() == shape.elements());
  return TensorView(data, dtype, dims);
}

TensorView TensorView::splitLast(std::int64_t outer, std::int64_t inner) const {
  const int rank = shape.rank();
  assert(rank < Shape::maxRank && outer * inner == shape[-1]);
  TensorView result = *this;
  switch (rank) {
  case 1:
    result.shape = Shape{outer, inner};
    break;
  case 2:
    result.shape = Shape{shape[0], outer, inner};
    break;
  default:
    result.shape = Shape{shape[0], shape[1], outer, inner};
    break;
  }
  result.strides[static_cast<std::size_t>(rank - 1)] = inner;
  result.strides[static_cast<std::size_t>(rank)] = 1;
  return result;
}

} // namespace millrace
