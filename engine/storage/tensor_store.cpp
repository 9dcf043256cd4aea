#include "storage/tensor_store.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace millrace {

TensorStore::TensorStore(const ModelSpec& spec, const MemoryPlan& plan, const PlannedMemory& memory)
    : m_shape(plan.shape), m_blocks(blocksOf(spec)), m_states(m_blocks.size()) {
  for (std::size_t b = 0; b < m_blocks.size(); ++b) {
    for (const Plane plane :
         {Plane::Weights, Plane::Remainder, Plane::Moment1, Plane::Moment2, Plane::Gradient, Plane::Partial}) {
      const std::string name = allocation_name::plane(plane, m_blocks[b]);
      if (memory.has(name)) m_states[b].planes[static_cast<std::size_t>(plane)] = memory.data(name);
    }
    m_states[b].tier = plan.find(allocation_name::plane(Plane::Weights, m_blocks[b]))->tier;
  }
}

TensorView TensorStore::plane(std::size_t block, Plane plane) const {
  std::byte* data = m_states[block].planes[static_cast<std::size_t>(plane)];
  if (!data) return {};
  DType dtype = DType::F32;
  if (plane == Plane::Weights) dtype = m_shape.activationType();
  if (plane == Plane::Remainder) dtype = DType::I16;
  if (plane == Plane::Gradient && m_shape.clip == ClipMode::ExactBf16 && !waitsInFp32(m_blocks[block].kind))
    dtype = DType::BF16;
  return TensorView(data, dtype, Shape{m_blocks[block].elements});
}

std::vector<AdamWArgs> TensorStore::updateRanges(std::size_t block, const TensorView& gradient, std::int64_t first,
                                                 std::int64_t count) const {
  const bool split = m_shape.precision == Precision::Bf16;
  std::vector<AdamWArgs> ranges;
  std::int64_t at = first;
  const std::vector<ParameterSpec>& parameters = m_blocks[block].parameters;
  for (std::size_t p = 0; p < parameters.size() && at < first + count; ++p) {
    // A parameter's range reaches to where one of another kind begins; the padding between is zero and stays zero.
    if (p + 1 < parameters.size() && parameters[p + 1].decay == parameters[p].decay) continue;
    const std::int64_t end =
        std::min(first + count, p + 1 < parameters.size() ? parameters[p + 1].offset : m_blocks[block].elements);
    if (end <= at) continue;
    AdamWArgs args;
    if (split) {
      args.hi = plane(block, Plane::Weights).rows(at, end - at);
      args.hi.dtype = DType::U16;
      args.lo = plane(block, Plane::Remainder).rows(at, end - at);
    } else {
      args.weight = plane(block, Plane::Weights).rows(at, end - at);
    }
    args.m = plane(block, Plane::Moment1).rows(at, end - at);
    args.v = plane(block, Plane::Moment2).rows(at, end - at);
    args.gradient = gradient.rows(at, end - at);
    args.decay = parameters[p].decay;
    ranges.push_back(args);
    at = end;
  }
  return ranges;
}

void TensorStore::advance(std::size_t block, Event ready) {
  ++m_states[block].version;
  m_states[block].ready = std::move(ready);
}

namespace {
/// Of a plane on the device through the stream; host memory is read as it is.
template <class T>
std::vector<T> fetched(Stream& stream, bool onDevice, const TensorView& plane, std::int64_t first, std::size_t count) {
  std::vector<T> values(count);
  const TensorView source = plane.rows(first, static_cast<std::int64_t>(count));
  if (!onDevice) {
    std::memcpy(values.data(), source.data, count * sizeof(T));
    return values;
  }
  stream.copy(values.data(), source.data, static_cast<Bytes>(count * sizeof(T)));
  stream.synchronize();
  return values;
}

template <class T>
void stored(Stream& stream, bool onDevice, const TensorView& plane, std::int64_t first, std::span<const T> values) {
  const TensorView target = plane.rows(first, static_cast<std::int64_t>(values.size()));
  if (!onDevice) {
    std::memcpy(target.data, values.data(), values.size_bytes());
    return;
  }
  stream.copy(target.data, values.data(), static_cast<Bytes>(values.size_bytes()));
  stream.synchronize();
}

void split(std::span<const float> values, std::uint16_t* hi, std::int16_t* lo) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const SplitWeight parts = splitWeight(values[i]);
    hi[i] = parts.hi;
    if (lo) lo[i] = parts.lo;
  }
}
} // namespace

void TensorStore::read(Stream& stream, std::size_t block, Quantity quantity, std::int64_t first,
                       std::span<float> values) const {
  if (quantity == Quantity::Master && m_shape.precision == Precision::Bf16) {
    const TensorView remainder = plane(block, Plane::Remainder);
    const auto hi = fetched<std::uint16_t>(stream, onDevice(block), plane(block, Plane::Weights), first, values.size());
    if (!remainder.valid()) { // inference keeps the bf16 weights alone
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = toFloat(BFloat16{hi[i]});
      return;
    }
    const auto lo = fetched<std::int16_t>(stream, onDevice(block), remainder, first, values.size());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = joinWeight(hi[i], lo[i]);
    return;
  }
  const Plane which = quantity == Quantity::Master    ? Plane::Weights
                      : quantity == Quantity::Moment1 ? Plane::Moment1
                                                      : Plane::Moment2;
  const auto source = fetched<float>(stream, onDevice(block), plane(block, which), first, values.size());
  std::copy(source.begin(), source.end(), values.begin());
}

void TensorStore::write(Stream& stream, std::size_t block, Quantity quantity, std::int64_t first,
                        std::span<const float> values) {
  if (quantity == Quantity::Master) ++m_states[block].version; // copies of the weights on the device are stale
  if (quantity == Quantity::Master && m_shape.precision == Precision::Bf16) {
    std::vector<std::uint16_t> hi(values.size());
    std::vector<std::int16_t> lo(values.size());
    split(values, hi.data(), lo.data());
    stored<std::uint16_t>(stream, onDevice(block), plane(block, Plane::Weights), first, hi);
    const TensorView remainder = plane(block, Plane::Remainder);
    if (remainder.valid()) stored<std::int16_t>(stream, onDevice(block), remainder, first, lo);
    return;
  }
  const Plane which = quantity == Quantity::Master    ? Plane::Weights
                      : quantity == Quantity::Moment1 ? Plane::Moment1
                                                      : Plane::Moment2;
  stored<float>(stream, onDevice(block), plane(block, which), first, values);
}

void TensorStore::fill(std::size_t block, std::int64_t first, std::span<const float> values) {
  assert(!onDevice(block));
  const auto count = static_cast<std::int64_t>(values.size());
  const TensorView weights = plane(block, Plane::Weights).rows(first, count);
  if (m_shape.precision != Precision::Bf16) {
    std::memcpy(weights.data, values.data(), values.size_bytes());
    return;
  }
  const TensorView remainder = plane(block, Plane::Remainder);
  split(values, static_cast<std::uint16_t*>(static_cast<void*>(weights.data)),
        remainder.valid() ? remainder.rows(first, count).as<std::int16_t>() : nullptr);
}

} // namespace millrace
