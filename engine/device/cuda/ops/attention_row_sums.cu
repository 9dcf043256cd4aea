// The row sums of dOut * out, which every gradient of a score needs: a warp for each query and head.
#include "device/cuda/ops/attention_kernels.h"
#include "device/cuda/ops/attention_problem.cuh"
#include "device/cuda/ops/device_math.cuh"
#include "device/cuda/ops/kernel_launch.cuh"

namespace millrace::cuda {

namespace {

constexpr int warps = 8; // of a block

template <class T>
struct RowSumsInput {
  HeadRows<const T> dOut, out;
  float* sums; // (B, heads, T)
  std::int64_t count;
  int heads, queries, headSize;
};

template <class T>
__global__ void __launch_bounds__(warps * 32) rowSumsKernel(const __grid_constant__ RowSumsInput<T> input) {
  // Heads of one query follow each other, as they do in memory.
  const std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * warps + static_cast<int>(threadIdx.x) / 32;
  if (index >= input.count) return;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int head = static_cast<int>(index % input.heads);
  const int query = static_cast<int>(index / input.heads % input.queries);
  const int row = static_cast<int>(index / input.heads / input.queries);
  const T* const dOut = input.dOut.at(row, head, query);
  const T* const out = input.out.at(row, head, query);
  float sum = 0;
  for (int i = lane; i < input.headSize; i += 32) sum += toFloat(dOut[i]) * toFloat(out[i]);
  sum = warpSum(sum);
  if (lane == 0) input.sums[(static_cast<std::int64_t>(row) * input.heads + head) * input.queries + query] = sum;
}

} // namespace

void attentionRowSums(cudaStream_t stream, const AttentionBackwardArgs& args) {
  const AttentionProblem problem(args);
  const std::int64_t count = static_cast<std::int64_t>(problem.batch) * problem.queries * problem.heads;
  dispatchActivation(args.q.dtype, [&](auto element) {
    using T = decltype(element);
    const RowSumsInput<T> input{.dOut = HeadRows<const T>(args.dOut),
                                .out = HeadRows<const T>(args.out),
                                .sums = args.scratch.as<float>(),
                                .count = count,
                                .heads = problem.heads,
                                .queries = problem.queries,
                                .headSize = problem.headSize};
    launch(stream, rowSumsKernel<T>, (count + warps - 1) / warps, warps * 32, 0, input, "the attention kernel");
  });
}

} // namespace millrace::cuda
