#include "ops/checks.h"

#include "base/result.h"

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>

namespace millrace::ops {

namespace {

/// A view as bytes: `rows` intervals of `length` bytes, `pitch` apart.
struct Extent {
  std::uintptr_t begin = 0;
  std::int64_t rows = 1, pitch = 0, length = 0;

  std::uintptr_t end() const { return begin + static_cast<std::uintptr_t>((rows - 1) * pitch + length); }
};

Extent extentOf(const TensorView& view) {
  const int rank = view.shape.rank();
  const Bytes size = bytesPerElement(view.dtype);
  const auto stride = [&](int i) { return view.strides[static_cast<std::size_t>(i)]; };
  Extent extent;
  extent.begin = reinterpret_cast<std::uintptr_t>(view.data);
  // Merge outer dimensions that step evenly; what is left inside one step is the row.
  int split = 0;
  std::int64_t rows = rank > 0 ? view.shape[0] : 1;
  while (split + 1 < rank - 1 && (rows == 1 || stride(split) == view.shape[split + 1] * stride(split + 1))) {
    ++split;
    rows *= view.shape[split];
  }
  if (rank < 2) {
    split = -1;
    rows = 1;
  }
  std::int64_t last = 0;
  for (int i = split + 1; i < rank; ++i) last += (view.shape[i] - 1) * stride(i);
  extent.rows = rows;
  extent.pitch = split >= 0 ? stride(split) * size : 0;
  extent.length = (last + 1) * size;
  return extent;
}

} // namespace

bool sameElements(const TensorView& a, const TensorView& b) {
  if (a.data != b.data || a.dtype != b.dtype || !(a.shape == b.shape)) return false;
  for (int i = 0; i < a.shape.rank(); ++i)
    if (a.shape[i] > 1 && a.strides[static_cast<std::size_t>(i)] != b.strides[static_cast<std::size_t>(i)])
      return false;
  return true;
}

bool mayOverlap(const TensorView& a, const TensorView& b) {
  if (!a.valid() || !b.valid() || a.shape.elements() == 0 || b.shape.elements() == 0) return false;
  const Extent x = extentOf(a), y = extentOf(b);
  if (x.end() <= y.begin || y.end() <= x.begin) return false;
  if (x.rows == 1 && y.rows == 1) return true;
  if (x.rows > 1 && y.rows > 1 && x.pitch != y.pitch) return true;
  const std::int64_t pitch = x.rows > 1 ? x.pitch : y.pitch;
  if (pitch <= 0) return true;
  // Both lie in columns of rows of this pitch: y's interval begins `offset` behind x's, going around.
  const auto distance = static_cast<std::int64_t>(y.begin - x.begin);
  const std::int64_t offset = (distance % pitch + pitch) % pitch;
  return offset < x.length || offset + y.length > pitch;
}

void Checks::fail(const std::string& what) const {
  throw EngineException(Error{ErrorKind::Failed, fmt::format("{}: {}", m_op, what)});
}

void Checks::that(bool condition, std::string_view rule) const {
  if (!condition) fail(std::string(rule));
}

void Checks::layout(std::string_view name, const TensorView& view, std::initializer_list<DType> dtypes) const {
  if (!view.valid()) fail(fmt::format("{} is missing", name));
  if (std::find(dtypes.begin(), dtypes.end(), view.dtype) == dtypes.end()) {
    std::string expected;
    for (const DType dtype : dtypes) expected += (expected.empty() ? "" : " or ") + std::string(toString(dtype));
    fail(fmt::format("{} is {}, expected {}", name, toString(view.dtype), expected));
  }
  const int rank = view.shape.rank();
  for (int i = 0; i < rank; ++i)
    if (view.shape[i] < 0) fail(fmt::format("{} has shape {}", name, view.shape.toString()));
  if (rank > 0 && view.shape[-1] > 1 && view.strides[static_cast<std::size_t>(rank - 1)] != 1)
    fail(fmt::format("{} {} has a step of {} elements in its last dimension, expected 1", name, view.shape.toString(),
                     view.strides[static_cast<std::size_t>(rank - 1)]));
}

void Checks::tensor(std::string_view name, const TensorView& view, std::initializer_list<DType> dtypes,
                    const Shape& shape) const {
  layout(name, view, dtypes);
  if (!(view.shape == shape))
    fail(fmt::format("{} has shape {}, expected {}", name, view.shape.toString(), shape.toString()));
}

void Checks::tensor(std::string_view name, const TensorView& view, std::initializer_list<DType> dtypes, int minRank,
                    int maxRank) const {
  layout(name, view, dtypes);
  if (view.shape.rank() < minRank || view.shape.rank() > maxRank)
    fail(minRank == maxRank
             ? fmt::format("{} has shape {}, expected {} dimensions", name, view.shape.toString(), minRank)
             : fmt::format("{} has shape {}, expected {} to {} dimensions", name, view.shape.toString(), minRank,
                           maxRank));
}

void Checks::contiguous(std::string_view name, const TensorView& view) const {
  if (!view.contiguous()) fail(fmt::format("{} {} must be contiguous", name, view.shape.toString()));
}

void Checks::apart(std::string_view aName, const TensorView& a, std::string_view bName, const TensorView& b) const {
  if (mayOverlap(a, b))
    fail(fmt::format("{} {} and {} {} share memory, which this op does not allow", aName, a.shape.toString(), bName,
                     b.shape.toString()));
}

void Checks::apartOrSame(std::string_view aName, const TensorView& a, std::string_view bName,
                         const TensorView& b) const {
  if (!sameElements(a, b)) apart(aName, a, bName, b);
}

} // namespace millrace::ops
