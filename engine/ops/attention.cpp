#include "ops/attention.h"

#include "device/device.h"
#include "ops/checks.h"

#include <fmt/format.h>
#include <iterator>

namespace millrace::ops {

namespace {
/// What forward and backward have in common; q, k and v are known to have four dimensions.
void checkInputs(const Checks& check, const TensorView& q, const TensorView& k, const TensorView& v,
                 const TensorView& out, const TensorView& lse, const TensorView& documentStart, std::int64_t window,
                 float scale, float softcap) {
  check.tensor("q", q, {DType::F32, DType::BF16}, 4, 4);
  check.tensor("k", k, {q.dtype}, 4, 4);
  const std::int64_t batch = q.shape[0], queries = q.shape[1], heads = q.shape[2], dim = q.shape[3];
  const std::int64_t keys = k.shape[1], kvHeads = k.shape[2];
  check.tensor("k", k, {q.dtype}, {batch, keys, kvHeads, dim});
  check.tensor("v", v, {q.dtype}, k.shape);
  check.that(queries <= keys, fmt::format("{} queries for only {} keys", queries, keys));
  check.that(kvHeads > 0 && heads % kvHeads == 0,
             fmt::format("{} query heads cannot be shared out over {} key heads", heads, kvHeads));
  check.that(window >= 0, fmt::format("window is {}, expected 0 (no limit) or more", window));
  check.that(softcap >= 0, fmt::format("softcap is {}, expected 0 (none) or more", softcap));
  check.that(softcap == 0 || scale > 0, fmt::format("scale is {}, expected more than 0 with a softcap", scale));
  check.tensor("out", out, {q.dtype}, q.shape);
  check.tensor("lse", lse, {DType::F32}, {batch, heads, queries});
  check.contiguous("lse", lse);
  if (documentStart.valid()) check.tensor("documentStart", documentStart, {DType::I32}, {batch, keys});
}
} // namespace

void attention(Stream& stream, const AttentionArgs& args) {
  const Checks check("attention");
  checkInputs(check, args.q, args.k, args.v, args.out, args.lse, args.documentStart, args.window, args.scale,
              args.softcap);
  check.apart("out", args.out, "q", args.q);
  check.apart("out", args.out, "k", args.k);
  check.apart("out", args.out, "v", args.v);
  stream.device().kernels().attention(stream, args);
}

void attentionBackward(Stream& stream, const AttentionBackwardArgs& args) {
  const Checks check("attentionBackward");
  checkInputs(check, args.q, args.k, args.v, args.out, args.lse, args.documentStart, args.window, args.scale,
              args.softcap);
  const Shape& q = args.q.shape;
  check.that(q[1] == args.k.shape[1],
             fmt::format("{} queries and {} keys, expected as many of each", q[1], args.k.shape[1]));
  check.tensor("dOut", args.dOut, {args.q.dtype}, q);
  check.tensor("dQ", args.dQ, {args.q.dtype}, q);
  check.tensor("dK", args.dK, {args.q.dtype}, args.k.shape);
  check.tensor("dV", args.dV, {args.q.dtype}, args.k.shape);
  check.tensor("scratch", args.scratch, {DType::F32}, {q[0], q[1], q[2], q[3] + 1});
  check.contiguous("scratch", args.scratch);
  const struct {
    const char* name;
    const TensorView& view;
  } inputs[] = {{"dOut", args.dOut}, {"q", args.q}, {"k", args.k}, {"v", args.v}, {"out", args.out}, {"lse", args.lse}},
    outputs[] = {{"dQ", args.dQ}, {"dK", args.dK}, {"dV", args.dV}, {"scratch", args.scratch}};
  for (const auto& output : outputs)
    for (const auto& input : inputs) check.apart(output.name, output.view, input.name, input.view);
  for (std::size_t i = 0; i < std::size(outputs); ++i)
    for (std::size_t j = 0; j < i; ++j) check.apart(outputs[i].name, outputs[i].view, outputs[j].name, outputs[j].view);
  stream.device().kernels().attentionBackward(stream, args);
}

} // namespace millrace::ops
