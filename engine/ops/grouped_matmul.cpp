#include "ops/grouped_matmul.h"

#include "device/device.h"
#include "ops/checks.h"

namespace millrace::ops {

void groupedMatmul(Stream& stream, const GroupedMatmulArgs& args) {
  const Checks check("groupedMatmul");
  check.tensor("b", args.b, {DType::F32, DType::BF16}, 3, 3);
  check.contiguous("b", args.b);
  const std::int64_t depth = args.b.shape[args.transposeB ? 2 : 1], columns = args.b.shape[args.transposeB ? 1 : 2];
  check.tensor("a", args.a, {args.b.dtype}, 2, 2);
  check.tensor("a", args.a, {args.b.dtype}, {args.a.shape[0], depth});
  check.tensor("c", args.c, {args.b.dtype}, {args.a.shape[0], columns});
  check.tensor("begins", args.begins, {DType::I32}, {args.b.shape[0] + 1});
  check.apart("c", args.c, "a", args.a);
  check.apart("c", args.c, "b", args.b);
  stream.device().kernels().groupedMatmul(stream, args);
}

void groupedWeightGradient(Stream& stream, const GroupedWeightGradientArgs& args) {
  const Checks check("groupedWeightGradient");
  check.tensor("dY", args.dY, {DType::F32, DType::BF16}, 2, 2);
  check.tensor("x", args.x, {args.dY.dtype}, 2, 2);
  check.tensor("x", args.x, {args.dY.dtype}, {args.dY.shape[0], args.x.shape[1]});
  check.tensor("dW", args.dW, {DType::F32}, 3, 3);
  check.tensor("dW", args.dW, {DType::F32}, {args.dW.shape[0], args.dY.shape[1], args.x.shape[1]});
  check.contiguous("dW", args.dW);
  check.tensor("begins", args.begins, {DType::I32}, {args.dW.shape[0] + 1});
  check.apart("dW", args.dW, "dY", args.dY);
  check.apart("dW", args.dW, "x", args.x);
  stream.device().kernels().groupedWeightGradient(stream, args);
}

} // namespace millrace::ops
