#include "storage/planned_memory.h"

#include <algorithm>
#include <cassert>
#include <fmt/format.h>

namespace millrace {

namespace {

/// "device memory of the run, the largest part of it 3.00 GiB for weight slot 0".
std::string purposeOf(const MemoryPlan& plan) {
  const Allocation* largest = nullptr;
  for (const Allocation& allocation : plan.allocations)
    if (allocation.tier == MemoryTier::Device && (!largest || allocation.bytes > largest->bytes)) largest = &allocation;
  return fmt::format("device memory of the run, the largest part of it {} for {}", formatBytes(largest->bytes),
                     largest->name);
}

} // namespace

void PlannedMemory::place(const std::string& name, Place place) {
  const bool isNew = m_places.emplace(name, place).second;
  assert(isNew && "two allocations of one name");
  (void)isNew;
}

std::vector<std::span<std::byte>> PlannedMemory::buffers(std::string (*naming)(int)) const {
  std::vector<std::span<std::byte>> found;
  for (int i = 0; has(naming(i)); ++i) found.emplace_back(data(naming(i)), static_cast<std::size_t>(bytes(naming(i))));
  return found;
}

Result<PlannedMemory> PlannedMemory::allocate(Device& device, const MemoryPlan& plan) {
  PlannedMemory memory;
  std::byte* next = nullptr;
  if (const Bytes bytes = plan.total(MemoryTier::Device); bytes > 0) {
    MILLRACE_TRY(Buffer buffer, device.allocate(bytes, MemorySpace::Device, purposeOf(plan)));
    next = buffer.data();
    memory.m_buffers.push_back(std::move(buffer));
  }
  for (const Allocation& allocation : plan.allocations) {
    if (!allocation.sharedWith.empty() || allocation.tier == MemoryTier::Disk) continue;
    if (allocation.tier == MemoryTier::Device) {
      assert(allocation.bytes == alignUp(allocation.bytes));
      memory.place(allocation.name, {next, allocation.bytes});
      next += allocation.bytes;
      continue;
    }
    MILLRACE_TRY(Buffer buffer, device.allocate(allocation.bytes, MemorySpace::Host, allocation.name));
    memory.place(allocation.name, {buffer.data(), buffer.bytes()});
    memory.m_buffers.push_back(std::move(buffer));
  }
  for (const Allocation& allocation : plan.allocations)
    if (!allocation.sharedWith.empty()) memory.place(allocation.name, memory.m_places.at(allocation.sharedWith));
  return memory;
}

} // namespace millrace
