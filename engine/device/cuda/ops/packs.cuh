// Elements that a thread takes at once, 16 bytes where addresses and widths allow, as fp32; and strided rows.
#pragma once

#include "device/cuda/ops/device_math.cuh"

#include <cassert>
#include <initializer_list>

namespace millrace::cuda {

template <class T, int N>
struct alignas(sizeof(T) * N) Pack {
  T values[N];
};

template <int N, class T>
__device__ void load(const T* from, float (&to)[N]) {
  const auto pack = *reinterpret_cast<const Pack<T, N>*>(from);
#pragma unroll
  for (int i = 0; i < N; ++i) to[i] = toFloat(pack.values[i]);
}

template <int N, class T>
__device__ void store(T* to, const float (&from)[N]) {
  Pack<T, N> pack;
#pragma unroll
  for (int i = 0; i < N; ++i) pack.values[i] = fromFloat<T>(from[i]);
  *reinterpret_cast<Pack<T, N>*>(to) = pack;
}

/// The memory as a kernel's type of element.
template <class T>
T* dataOf(const TensorView& view) {
  return static_cast<T*>(view.data);
}

/// The rows (innermost dimension) of a view, counted through. Outer dimensions are (outer, inner) at most: merged where
/// they lie one after the other.
struct Rows {
  std::int64_t count = 0, columns = 0;
  std::int64_t inner = 1, outerStride = 0, innerStride = 0;

  Rows() = default;
  explicit Rows(const TensorView& view) {
    const int rank = view.shape.rank();
    columns = view.shape[-1];
    count = columns > 0 ? view.shape.elements() / columns : 0;
    if (rank < 2) return;
    int dimension = rank - 2;
    innerStride = view.strides[static_cast<std::size_t>(dimension)];
    inner = view.shape[dimension];
    const auto isNextTo = [&](int outer) {
      return view.shape[outer] == 1 || view.strides[static_cast<std::size_t>(outer)] == inner * innerStride;
    };
    for (--dimension; dimension >= 0 && isNextTo(dimension); --dimension) inner *= view.shape[dimension];
    if (dimension < 0) return;
    outerStride = view.strides[static_cast<std::size_t>(dimension)];
    std::int64_t covered = view.shape[dimension];
    for (--dimension; dimension >= 0; --dimension) {
      assert(
          (view.shape[dimension] == 1 || view.strides[static_cast<std::size_t>(dimension)] == covered * outerStride) &&
          "rows with three strides");
      covered *= view.shape[dimension];
    }
  }

  __device__ std::int64_t offset(std::int64_t row) const {
    return inner == count ? row * innerStride : row / inner * outerStride + row % inner * innerStride;
  }
};

/// Whether rows of these views, equal in width, can be read N elements at once.
template <int N>
bool readsPacks(std::int64_t columns, std::initializer_list<const TensorView*> views) {
  if (columns % N != 0) return false;
  for (const TensorView* view : views) {
    if (!view->valid()) continue;
    const auto bytes = static_cast<std::uintptr_t>(N * bytesPerElement(view->dtype));
    if (reinterpret_cast<std::uintptr_t>(view->data) % bytes != 0) return false;
    for (int i = 0; i + 1 < view->shape.rank(); ++i)
      if (view->strides[static_cast<std::size_t>(i)] % N != 0) return false;
  }
  return true;
}

/// Calls function(element, std::integral_constant<int, N>) for the dtype and the widest N of 16 bytes or one element.
template <class Function>
void dispatchPacks(DType dtype, std::int64_t columns, std::initializer_list<const TensorView*> views,
                   Function&& function) {
  dispatchActivation(dtype, [&](auto element) {
    constexpr int wide = 16 / static_cast<int>(sizeof element);
    if (readsPacks<wide>(columns, views))
      function(element, std::integral_constant<int, wide>{});
    else
      function(element, std::integral_constant<int, 1>{});
  });
}

/// Blocks of 256 threads over (rows, packs of a row): x along a row, y over rows.
struct RowGrid {
  dim3 blocks, threads;

  RowGrid(std::int64_t rows, std::int64_t packs) {
    unsigned along = 1;
    while (along < 256 && along < packs) along *= 2;
    threads = dim3(along, 256 / along);
    blocks = dim3(static_cast<unsigned>((rows + threads.y - 1) / threads.y),
                  static_cast<unsigned>((packs + along - 1) / along));
  }
};

/// Where a thread of a RowGrid stands.
__device__ inline std::int64_t gridRow() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
}
__device__ inline std::int64_t gridPack() {
  return static_cast<std::int64_t>(blockIdx.y) * blockDim.x + threadIdx.x;
}

} // namespace millrace::cuda
