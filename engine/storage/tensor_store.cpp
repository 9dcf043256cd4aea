#include "storage/tensor_store.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <map>

namespace millrace {

namespace {

/// Host memory that whatever lies on disk may pass through between steps.
std::span<std::byte> stagingOf(const PlannedMemory& memory) {
  const auto state = memory.buffers(&allocation_name::diskState);
  return state.empty() ? memory.buffers(&allocation_name::diskWeights).front() : state.front();
}

} // namespace

TensorStore::TensorStore(const ModelSpec& spec, const MemoryPlan& plan, const PlannedMemory& memory, DiskTier* disk)
    : m_shape(plan.shape), m_blocks(blocksOf(spec)), m_states(m_blocks.size()) {
  std::map<std::string, std::size_t> onDisk;
  for (const DiskRange& range : diskRanges(plan)) onDisk.emplace(range.name, onDisk.size());
  assert((onDisk.empty() || disk) && "a plan with planes on disk needs a tier for them");
  if (!onDisk.empty()) m_disk.emplace(*disk, stagingOf(memory));
  for (std::size_t b = 0; b < m_blocks.size(); ++b) {
    for (const Plane plane :
         {Plane::Weights, Plane::Remainder, Plane::Moment1, Plane::Moment2, Plane::Gradient, Plane::Partial}) {
      const auto index = static_cast<std::size_t>(plane);
      const std::string name = allocation_name::plane(plane, m_blocks[b]);
      if (memory.has(name)) m_states[b].planes[index] = memory.data(name);
      if (const auto found = onDisk.find(name); found != onDisk.end()) m_states[b].ranges[index] = found->second;
    }
    m_states[b].tier = plan.find(allocation_name::plane(Plane::Weights, m_blocks[b]))->tier;
  }
}

bool TensorStore::fillable(std::size_t block) const {
  return m_states[block].tier == MemoryTier::Host && !diskRange(block, Plane::Remainder);
}

std::optional<std::size_t> TensorStore::diskRange(std::size_t block, Plane plane) const {
  return m_states[block].ranges[static_cast<std::size_t>(plane)];
}

TensorView TensorStore::plane(std::size_t block, Plane plane) const {
  std::byte* data = m_states[block].planes[static_cast<std::size_t>(plane)];
  if (!data && !diskRange(block, plane)) return {};
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
    const auto part = [&](const TensorView& whole) {
      return TensorView(whole.valid() ? whole.rows(at, end - at).data : nullptr, whole.dtype, Shape{end - at});
    };
    AdamWArgs args;
    if (split) {
      args.hi = part(plane(block, Plane::Weights));
      args.hi.dtype = DType::U16;
      args.lo = part(plane(block, Plane::Remainder));
    } else {
      args.weight = part(plane(block, Plane::Weights));
    }
    args.m = part(plane(block, Plane::Moment1));
    args.v = part(plane(block, Plane::Moment2));
    args.gradient = part(gradient);
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

Plane planeOf(TensorStore::Quantity quantity) {
  switch (quantity) {
  case TensorStore::Quantity::Master:
    return Plane::Weights;
  case TensorStore::Quantity::Moment1:
    return Plane::Moment1;
  case TensorStore::Quantity::Moment2:
    return Plane::Moment2;
  }
  return Plane::Weights;
}

void split(std::span<const float> values, std::uint16_t* hi, std::int16_t* lo) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const SplitWeight parts = splitWeight(values[i]);
    hi[i] = parts.hi;
    if (lo) lo[i] = parts.lo;
  }
}

} // namespace

/// values.size() elements from `first` on; of a plane on the device through the stream.
template <class T>
Status TensorStore::fetch(Stream& stream, std::size_t block, Plane which, std::int64_t first,
                          std::vector<T>& values) const {
  const auto bytes = static_cast<Bytes>(values.size() * sizeof(T));
  if (const auto range = diskRange(block, which))
    return m_disk->read({*range, plane(block, which).bytes()}, first * static_cast<Bytes>(sizeof(T)),
                        std::as_writable_bytes(std::span(values)));
  const TensorView source = plane(block, which).rows(first, static_cast<std::int64_t>(values.size()));
  if (!onDevice(block)) {
    std::memcpy(values.data(), source.data, static_cast<std::size_t>(bytes));
    return {};
  }
  stream.copy(values.data(), source.data, bytes);
  stream.synchronize();
  return {};
}

template <class T>
Status TensorStore::store(Stream& stream, std::size_t block, Plane which, std::int64_t first,
                          std::span<const T> values) {
  if (const auto range = diskRange(block, which))
    return m_disk->write({*range, plane(block, which).bytes()}, first * static_cast<Bytes>(sizeof(T)),
                         std::as_bytes(values));
  const TensorView target = plane(block, which).rows(first, static_cast<std::int64_t>(values.size()));
  if (!onDevice(block)) {
    std::memcpy(target.data, values.data(), values.size_bytes());
    return {};
  }
  stream.copy(target.data, values.data(), static_cast<Bytes>(values.size_bytes()));
  stream.synchronize();
  return {};
}

Status TensorStore::read(Stream& stream, std::size_t block, Quantity quantity, std::int64_t first,
                         std::span<float> values) const {
  if (quantity == Quantity::Master && m_shape.precision == Precision::Bf16) {
    std::vector<std::uint16_t> hi(values.size());
    MILLRACE_CHECK(fetch(stream, block, Plane::Weights, first, hi));
    if (plane(block, Plane::Remainder).shape.rank() == 0) { // inference keeps the bf16 weights alone
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = toFloat(BFloat16{hi[i]});
      return {};
    }
    std::vector<std::int16_t> lo(values.size());
    MILLRACE_CHECK(fetch(stream, block, Plane::Remainder, first, lo));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = joinWeight(hi[i], lo[i]);
    return {};
  }
  std::vector<float> source(values.size());
  MILLRACE_CHECK(fetch(stream, block, planeOf(quantity), first, source));
  std::copy(source.begin(), source.end(), values.begin());
  return {};
}

Status TensorStore::write(Stream& stream, std::size_t block, Quantity quantity, std::int64_t first,
                          std::span<const float> values) {
  if (quantity == Quantity::Master) ++m_states[block].version; // copies of the weights on the device are stale
  if (quantity != Quantity::Master || m_shape.precision != Precision::Bf16)
    return store(stream, block, planeOf(quantity), first, values);
  std::vector<std::uint16_t> hi(values.size());
  std::vector<std::int16_t> lo(values.size());
  split(values, hi.data(), lo.data());
  MILLRACE_CHECK(store<std::uint16_t>(stream, block, Plane::Weights, first, hi));
  if (plane(block, Plane::Remainder).shape.rank() == 0) return {};
  return store<std::int16_t>(stream, block, Plane::Remainder, first, lo);
}

void TensorStore::fill(std::size_t block, std::int64_t first, std::span<const float> values) {
  assert(fillable(block));
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
