#include "device/cpu/ops/adamw.h"

#include "device/cpu/ops/adamw_range.h"
#include "device/cpu/ops/isa.h"

#include <algorithm>
#include <cassert>
#include <vector>

namespace millrace {

namespace {

cpu::AdamWRange rangeOf(const AdamWArgs& args, std::int64_t begin, std::int64_t count) {
  assert(args.weight.valid() != (args.hi.valid() && args.lo.valid()));
  cpu::AdamWRange range;
  range.count = static_cast<std::size_t>(count);
  if (args.weight.valid()) {
    range.weight = args.weight.as<float>() + begin;
  } else {
    range.hi = args.hi.as<std::uint16_t>() + begin;
    range.lo = args.lo.as<std::int16_t>() + begin;
  }
  range.m = args.m.as<float>() + begin;
  range.v = args.v.as<float>() + begin;
  if (args.gradient.dtype == DType::BF16)
    range.gradient16 = &args.gradient.as<BFloat16>()[begin].bits;
  else
    range.gradient32 = args.gradient.as<float>() + begin;
  range.scalars = args.scalars;
  range.decay = args.decay;
  return range;
}

void update(const cpu::AdamWRange& range, AdamWIsa isa) {
  switch (isa) {
  case AdamWIsa::Scalar:
    return cpu::adamWScalar(range);
  case AdamWIsa::Avx2:
    return cpu::adamWAvx2(range);
  case AdamWIsa::Avx512:
    return cpu::adamWAvx512(range);
  }
}

} // namespace

std::string_view toString(AdamWIsa isa) {
  switch (isa) {
  case AdamWIsa::Scalar:
    return "scalar";
  case AdamWIsa::Avx2:
    return "avx2";
  case AdamWIsa::Avx512:
    return "avx512";
  }
  return "unknown";
}

bool supported(AdamWIsa isa) {
  switch (isa) {
  case AdamWIsa::Scalar:
    return true;
  case AdamWIsa::Avx2:
    return cpu::supported(cpu::Isa::Avx2);
  case AdamWIsa::Avx512:
    return cpu::supported(cpu::Isa::Avx512);
  }
  return false;
}

AdamWIsa bestAdamWIsa() {
  return supported(AdamWIsa::Avx512) ? AdamWIsa::Avx512 : supported(AdamWIsa::Avx2) ? AdamWIsa::Avx2 : AdamWIsa::Scalar;
}

void adamWUpdate(const AdamWArgs& args, AdamWIsa isa) {
  update(rangeOf(args, 0, args.m.shape.elements()), isa);
}

void adamWUpdate(ThreadPool& pool, std::span<const AdamWArgs> all, AdamWIsa isa) {
  constexpr std::int64_t length =
      65536; // 1.8 MB of traffic: long enough for the prefetchers, short enough to share out
  std::vector<cpu::AdamWRange> pieces;
  for (const AdamWArgs& args : all) {
    const std::int64_t count = args.m.shape.elements();
    for (std::int64_t begin = 0; begin < count; begin += length)
      pieces.push_back(rangeOf(args, begin, std::min(length, count - begin)));
  }
  pool.parallelFor(static_cast<std::int64_t>(pieces.size()),
                   [&](std::int64_t i) { update(pieces[static_cast<std::size_t>(i)], isa); });
}

} // namespace millrace
