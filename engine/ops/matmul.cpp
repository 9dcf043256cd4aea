#include "ops/matmul.h"

#include "device/device.h"
#include "ops/checks.h"

namespace millrace::ops {

void matmul(Stream& stream, const MatmulArgs& args) {
  const Checks check("matmul");
  check.tensor("a", args.a, {DType::F32, DType::BF16}, 2, 2);
  check.tensor("b", args.b, {args.a.dtype}, 2, 2);
  const std::int64_t m = args.a.shape[args.transposeA ? 1 : 0], k = args.a.shape[args.transposeA ? 0 : 1];
  const std::int64_t n = args.b.shape[args.transposeB ? 0 : 1];
  check.tensor("b", args.b, {args.a.dtype}, args.transposeB ? Shape{n, k} : Shape{k, n});
  if (args.accumulate) {
    check.tensor("c", args.c, {DType::F32}, {m, n});
    check.that(!args.bias.valid() && !args.residual.valid(), "bias and residual have no place when accumulating");
  } else {
    check.tensor("c", args.c, {DType::F32, args.a.dtype}, {m, n});
  }
  if (args.bias.valid()) check.tensor("bias", args.bias, {args.a.dtype}, {n});
  if (args.residual.valid()) check.tensor("residual", args.residual, {args.a.dtype}, {m, n});
  check.apart("c", args.c, "a", args.a);
  check.apart("c", args.c, "b", args.b);
  check.apart("c", args.c, "bias", args.bias);
  check.apartOrSame("c", args.c, "residual", args.residual);
  stream.device().kernels().matmul(stream, args);
}

} // namespace millrace::ops
