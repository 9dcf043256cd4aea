// PlannedMemory: the buffers of a MemoryPlan, allocated by name, all of them before a run begins. Owner of every large
// byte of the engine; what is not in the plan cannot be had here. Not thread-safe while being made, read-only
// afterwards.
#pragma once

#include "device/device.h"
#include "plan/memory_plan.h"

#include <map>
#include <string>

namespace millrace {

class PlannedMemory {
 public:
  /// Allocates everything; DoesNotFit names the first allocation that the device refuses. Nothing stays allocated after
  /// a failure.
  static Result<PlannedMemory> allocate(Device& device, const MemoryPlan& plan);

  /// The buffer's memory; the name must be in the plan.
  std::byte* data(const std::string& name) const;
  Bytes bytes(const std::string& name) const;
  bool has(const std::string& name) const { return m_buffers.count(name) != 0; }

 private:
  std::map<std::string, Buffer> m_buffers;
};

} // namespace millrace
