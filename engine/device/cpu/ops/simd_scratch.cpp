#include "device/cpu/ops/simd_scratch.h"

#include "base/units.h"

#include <array>
#include <memory>
#include <new>

namespace millrace::cpu {

namespace {
struct Free {
  void operator()(float* data) const { ::operator delete (data, std::align_val_t{operandAlignment}); }
};

struct Area {
  std::unique_ptr<float, Free> data;
  std::int64_t floats = 0;
};

thread_local std::array<Area, 2> areas;
} // namespace

float* threadScratch(ScratchSlot slot, std::int64_t floats) {
  Area& area = areas[static_cast<std::size_t>(slot)];
  if (area.floats < floats) {
    area.data.reset();
    area.floats = 0;
    area.data.reset(static_cast<float*>(
        ::operator new (static_cast<std::size_t>(floats) * sizeof(float), std::align_val_t{operandAlignment})));
    area.floats = floats;
  }
  return area.data.get();
}

} // namespace millrace::cpu
