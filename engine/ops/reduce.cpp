#include "ops/reduce.h"

#include "device/device.h"
#include "ops/checks.h"

namespace millrace::ops {

namespace {
void checkRange(const Checks& check, const TensorView& x, const TensorView& sum) {
  check.tensor("x", x, {DType::F32}, 1, Shape::maxRank);
  check.contiguous("x", x);
  check.tensor("sum", sum, {DType::F64}, {1});
  check.apart("sum", sum, "x", x);
}
} // namespace

void sum(Stream& stream, const SumArgs& args) {
  checkRange(Checks("sum"), args.x, args.sum);
  stream.device().kernels().sum(stream, args);
}

void sumOfSquares(Stream& stream, const SumOfSquaresArgs& args) {
  checkRange(Checks("sumOfSquares"), args.x, args.sum);
  stream.device().kernels().sumOfSquares(stream, args);
}

} // namespace millrace::ops
