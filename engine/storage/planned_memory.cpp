#include "storage/planned_memory.h"

#include <cassert>

namespace millrace {

Result<PlannedMemory> PlannedMemory::allocate(Device& device, const MemoryPlan& plan) {
  PlannedMemory memory;
  for (const Allocation& allocation : plan.allocations) {
    const MemorySpace space = allocation.tier == MemoryTier::Device ? MemorySpace::Device : MemorySpace::Host;
    MILLRACE_TRY(Buffer buffer, device.allocate(allocation.bytes, space, allocation.name));
    const bool isNew = memory.m_buffers.emplace(allocation.name, std::move(buffer)).second;
    assert(isNew && "two allocations of one name");
    (void)isNew;
  }
  return memory;
}

std::byte* PlannedMemory::data(const std::string& name) const {
  return m_buffers.at(name).data();
}

Bytes PlannedMemory::bytes(const std::string& name) const {
  return m_buffers.at(name).bytes();
}

} // namespace millrace
