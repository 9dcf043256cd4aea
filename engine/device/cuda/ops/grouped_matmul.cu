#include "device/cuda/ops/grouped_matmul.h"

#include "device/cuda/ops/grouped_matmul_bf16.cuh"
#include "device/cuda/ops/grouped_matmul_general.cuh"

#include <initializer_list>

namespace millrace::cuda {

namespace {

/// Whether every row begins at a multiple of 16 bytes, as copies of 16 bytes want it.
bool matrixUnitsCan(std::initializer_list<const TensorView*> views) {
  for (const TensorView* view : views) {
    if (view->dtype != DType::BF16 || reinterpret_cast<std::uintptr_t>(view->data) % 16 != 0) return false;
    if (view->shape[-1] % 8 != 0) return false;
    for (int i = 0; i + 1 < view->shape.rank(); ++i)
      if (view->strides[static_cast<std::size_t>(i)] % 8 != 0) return false;
  }
  return true;
}

int tilesOf(std::int64_t count, int size) {
  return static_cast<int>((count + size - 1) / size);
}

template <GroupedProduct product, class Tiles, class T>
void launchGrouped(cudaStream_t stream, GroupedInput<T> input, std::int64_t rows, void (*kernel)(GroupedInput<T>),
                   int sharedBytes) {
  if (rows == 0) return;
  constexpr bool gradient = product == GroupedProduct::Gradient;
  input.columnTiles = tilesOf(product == GroupedProduct::Transposed ? input.n : input.k, Tiles::columns);
  // Every group may have a tile that is not full.
  input.rowTiles = gradient ? tilesOf(input.n, Tiles::rows) : static_cast<int>(rows / Tiles::rows) + input.groups;
  const std::int64_t blocks = static_cast<std::int64_t>(input.rowTiles) * input.columnTiles;
  launch(stream, kernel, gradient ? blocks * input.groups : blocks, Tiles::threads, sharedBytes, input,
         "the grouped matmul kernel");
}

template <GroupedProduct product, class Args>
void run(cudaStream_t stream, const Args& args, DType dtype, std::int64_t rows, bool matrixUnits) {
  if (matrixUnits) {
    launchGrouped<product, GroupedTiles>(stream, groupedInput<__nv_bfloat16>(args), rows, groupedBf16Kernel<product>,
                                         GroupedTiles::sharedBytes);
    return;
  }
  dispatchActivation(dtype, [&](auto element) {
    using T = decltype(element);
    launchGrouped<product, GeneralGroupedTiles>(stream, groupedInput<T>(args), rows, groupedGeneralKernel<product, T>,
                                                0);
  });
}

} // namespace

void groupedMatmul(cudaStream_t stream, const GroupedMatmulArgs& args) {
  const bool matrixUnits = matrixUnitsCan({&args.a, &args.b, &args.c});
  if (args.transposeB)
    run<GroupedProduct::Transposed>(stream, args, args.a.dtype, args.a.shape[0], matrixUnits);
  else
    run<GroupedProduct::Plain>(stream, args, args.a.dtype, args.a.shape[0], matrixUnits);
}

void groupedWeightGradient(cudaStream_t stream, const GroupedWeightGradientArgs& args) {
  run<GroupedProduct::Gradient>(stream, args, args.dY.dtype, args.dY.shape[0], matrixUnitsCan({&args.dY, &args.x}));
}

} // namespace millrace::cuda
