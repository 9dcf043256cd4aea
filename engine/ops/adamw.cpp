#include "ops/adamw.h"

#include "device/device.h"
#include "ops/checks.h"

#include <iterator>

namespace millrace::ops {

void adamW(Stream& stream, const AdamWArgs& args) {
  const Checks check("adamW");
  check.tensor("m", args.m, {DType::F32}, 1, 1);
  const Shape& shape = args.m.shape;
  check.tensor("v", args.v, {DType::F32}, shape);
  check.tensor("gradient", args.gradient, {DType::F32, DType::BF16}, shape);
  const bool split = args.hi.valid() || args.lo.valid();
  check.that(args.weight.valid() != split, "state is either weight, or hi and lo");
  if (split) {
    check.tensor("hi", args.hi, {DType::U16}, shape);
    check.tensor("lo", args.lo, {DType::I16}, shape);
  } else {
    check.tensor("weight", args.weight, {DType::F32}, shape);
  }
  const struct {
    const char* name;
    const TensorView& view;
  } ranges[] = {{"weight", args.weight}, {"hi", args.hi}, {"lo", args.lo},
                {"m", args.m},           {"v", args.v},   {"gradient", args.gradient}};
  for (std::size_t i = 0; i < std::size(ranges); ++i)
    for (std::size_t j = 0; j < i; ++j) check.apart(ranges[i].name, ranges[i].view, ranges[j].name, ranges[j].view);
  stream.device().kernels().adamW(stream, args);
}

std::array<TensorView AdamWArgs::*, 6> adamWOperands() {
  return {&AdamWArgs::m, &AdamWArgs::v, &AdamWArgs::weight, &AdamWArgs::hi, &AdamWArgs::lo, &AdamWArgs::gradient};
}

AdamWArgs rangeOf(const AdamWArgs& args, std::int64_t first, std::int64_t count) {
  AdamWArgs range = args;
  for (TensorView AdamWArgs::*const operand : adamWOperands())
    if ((args.*operand).valid()) range.*operand = (args.*operand).rows(first, count);
  return range;
}

} // namespace millrace::ops
