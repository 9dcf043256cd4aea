#include "device/cuda/ops/attention_key_gradients_bf16.cuh"

#include "device/cuda/ops/attention_head_size.h"
#include "device/cuda/ops/attention_kernels.h"

namespace millrace::cuda {

void attentionKeyGradientsBf16(cudaStream_t stream, const AttentionBackwardArgs& args) {
  withHeadSize(args.q.shape[3], [&](auto size) {
    constexpr int D = size.value;
    constexpr BackwardTiles the = keyGradientTiles(D);
    const BackwardInput input(args, the.rows());
    const std::int64_t blocks =
        static_cast<std::int64_t>(input.problem.batch) * input.problem.kvHeads * input.tiles * the.columnSplits;
    launch(stream, args.softcap > 0 ? keyGradientKernel<D, true> : keyGradientKernel<D, false>, blocks, the.threads(),
           the.sharedBytes(), input, "the attention kernel");
  });
}

} // namespace millrace::cuda
