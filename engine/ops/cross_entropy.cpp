#include "ops/cross_entropy.h"

#include "device/device.h"
#include "ops/checks.h"

#include <fmt/format.h>

namespace millrace::ops {

void crossEntropy(Stream& stream, const CrossEntropyArgs& args) {
  const Checks check("crossEntropy");
  check.tensor("logits", args.logits, {DType::F32}, 2, 2);
  check.that(args.logits.shape[1] > 0, "logits have no columns");
  const std::int64_t rows = args.logits.shape[0];
  check.tensor("targets", args.targets, {DType::I32}, {rows});
  check.tensor("loss", args.loss, {DType::F32}, {rows});
  check.apart("loss", args.loss, "logits", args.logits);
  check.that(args.softcap >= 0, fmt::format("softcap is {}, expected 0 (none) or more", args.softcap));
  if (args.dLogits.valid()) {
    check.tensor("dLogits", args.dLogits, {DType::F32, DType::BF16}, args.logits.shape);
    check.that(args.dLogits.data == args.logits.data, "dLogits must lie in the memory of logits");
    const std::int64_t stride = args.dLogits.strides[0];
    const std::int64_t expected = args.logits.strides[0] * (args.dLogits.dtype == DType::BF16 ? 2 : 1);
    check.that(rows < 2 || stride == expected, fmt::format("rows of {} dLogits are {} elements apart, expected {}",
                                                           toString(args.dLogits.dtype), stride, expected));
  }
  stream.device().kernels().crossEntropy(stream, args);
}

} // namespace millrace::ops
