#include "device/cuda/ops/attention_forward_bf16.cuh"
#include "device/cuda/ops/attention_head_size.h"
#include "device/cuda/ops/attention_kernels.h"

namespace millrace::cuda {

void attentionForwardBf16(cudaStream_t stream, const AttentionArgs& args) {
  withHeadSize(args.q.shape[3], [&](auto size) {
    constexpr int D = size.value;
    constexpr ForwardTiles the = forwardTiles(D);
    const AttentionProblem problem(args);
    const int tiles = (problem.queries + the.queries() - 1) / the.queries();
    const ForwardInput input{.problem = problem,
                             .q = HeadRows<const __nv_bfloat16>(args.q),
                             .k = HeadRows<const __nv_bfloat16>(args.k),
                             .v = HeadRows<const __nv_bfloat16>(args.v),
                             .out = HeadRows<__nv_bfloat16>(args.out),
                             .lse = args.lse.as<float>(),
                             .tiles = tiles};
    launch(stream, args.softcap > 0 ? forwardKernel<D, true> : forwardKernel<D, false>,
           static_cast<std::int64_t>(problem.batch) * problem.heads * tiles, the.threads(), the.sharedBytes(), input,
           "the attention kernel");
  });
}

} // namespace millrace::cuda
