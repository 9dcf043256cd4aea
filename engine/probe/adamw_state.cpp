#include "probe/adamw_state.h"

#include <algorithm>

namespace millrace {

AdamWScalars ordinaryScalars() {
  return {0.9f, 0.1f, 0.95f, 0.05f, 1e-8f, 1e-6f, 1.0f, 0.9999f, 1.0f};
}

Result<AdamWState> AdamWState::create(ThreadPool& pool, std::int64_t parameters) {
  AdamWState state;
  state.m_pieces = std::max<std::int64_t>(1, (parameters + pieceElements - 1) / pieceElements);
  const std::int64_t count = state.count();
  state.m_memory = createCpuDevice(pool, 0, bytesPerParameter * count);
  const auto plane = [&](DType dtype, auto value) -> Result<TensorView> {
    MILLRACE_TRY(Buffer buffer,
                 state.m_memory->allocate(count * bytesPerElement(dtype), MemorySpace::Host, "the measurement"));
    auto* values = reinterpret_cast<decltype(value)*>(buffer.data());
    pool.parallelFor(state.m_pieces,
                     [&](std::int64_t i) { std::fill_n(values + i * pieceElements, pieceElements, value); });
    state.m_buffers.push_back(std::move(buffer));
    return TensorView(values, dtype, Shape{count});
  };
  AdamWArgs& plain = state.m_plain;
  MILLRACE_TRY(plain.weight, plane(DType::F32, 0.1f));
  MILLRACE_TRY(plain.m, plane(DType::F32, 0.001f));
  MILLRACE_TRY(plain.v, plane(DType::F32, 0.0001f));
  MILLRACE_TRY(plain.gradient, plane(DType::F32, 0.002f));
  plain.scalars = ordinaryScalars();
  plain.decay = true;
  AdamWArgs& split = state.m_split;
  split = plain;
  split.weight = {};
  MILLRACE_TRY(split.hi, plane(DType::U16, std::uint16_t{0x3DCC}));
  MILLRACE_TRY(split.lo, plane(DType::I16, std::int16_t{7}));
  return state;
}

} // namespace millrace
