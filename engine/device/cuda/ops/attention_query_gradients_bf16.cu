#include "device/cuda/ops/attention_query_gradients_bf16.cuh"

#include "device/cuda/ops/attention_head_size.h"
#include "device/cuda/ops/attention_kernels.h"

namespace millrace::cuda {

void attentionQueryGradientsBf16(cudaStream_t stream, const AttentionBackwardArgs& args) {
  withHeadSize(args.q.shape[3], [&](auto size) {
    constexpr int D = size.value;
    constexpr BackwardTiles the = queryGradientTiles(D);
    const BackwardInput input(args, the.rows());
    const std::int64_t blocks =
        static_cast<std::int64_t>(input.problem.batch) * input.problem.heads * input.tiles * the.columnSplits;
    launch(stream, args.softcap > 0 ? queryGradientKernel<D, true> : queryGradientKernel<D, false>, blocks,
           the.threads(), the.sharedBytes(), input, "the attention kernel");
  });
}

} // namespace millrace::cuda
