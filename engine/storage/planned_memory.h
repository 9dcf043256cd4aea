// PlannedMemory: the buffers of a MemoryPlan, allocated by name, all of them before a run begins. Owner of every large
// byte of the engine that is memory (the disk's are DiskTier's); what is not in the plan cannot be had here. Not
// thread-safe while being made, read-only afterwards.
#pragma once

#include "device/device.h"
#include "plan/memory_plan.h"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace millrace {

class PlannedMemory {
 public:
  /// Allocates everything: host memory buffer by buffer, device memory at once, since a GPU's driver rounds each
  /// allocation up. DoesNotFit names what the device refuses. Nothing stays allocated after a failure.
  static Result<PlannedMemory> allocate(Device& device, const MemoryPlan& plan);

  /// The buffer's memory; the name must be in the plan.
  std::byte* data(const std::string& name) const { return m_places.at(name).data; }
  Bytes bytes(const std::string& name) const { return m_places.at(name).bytes; }
  bool has(const std::string& name) const { return m_places.count(name) != 0; }
  /// The buffers that are called naming(0), naming(1) and so on, as many as there are.
  std::vector<std::span<std::byte>> buffers(std::string (*naming)(int)) const;

 private:
  struct Place {
    std::byte* data = nullptr;
    Bytes bytes = 0;
  };
  void place(const std::string& name, Place place);

  std::vector<Buffer> m_buffers;
  std::map<std::string, Place> m_places;
};

} // namespace millrace
