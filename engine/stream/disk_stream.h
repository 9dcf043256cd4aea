// DiskStream: copies between planes on disk and device memory, piece by piece through buffers in host memory that are
// used in turn. The disk's part is carried out by a DiskQueue, the bus's by two streams, which wait for each other's
// events. One submitting thread; nothing here blocks it.
#pragma once

#include "device/device.h"
#include "storage/planned_memory.h"
#include "stream/disk_queue.h"

#include <memory>
#include <string>
#include <vector>

namespace millrace {

class DiskStream {
 public:
  /// naming: allocation_name::diskWeights and the like; nullptr when the plan has no such buffers.
  static std::unique_ptr<DiskStream> create(Device& device, DiskTier& tier, const PlannedMemory& memory,
                                            std::string (*naming)(int), const std::string& name);

  /// A plane, whole, from disk to device memory; current: after it the disk holds what is to be read. The device's part
  /// is in the order of in().
  void read(std::size_t range, const Event& current, void* destination, Bytes bytes);
  /// Device memory to a plane. The device's part is in the order of out(), so that the source is free when a later
  /// record() of it has happened. The event: the disk holds it.
  Event write(std::size_t range, const void* source, Bytes bytes);

  Stream& in() { return *m_in; }
  Stream& out() { return *m_out; }
  const Stream& in() const { return *m_in; }
  const Stream& out() const { return *m_out; }
  void synchronize();

 private:
  struct Buffer {
    std::byte* data = nullptr;
    Event free; ///< what was in it has arrived
  };
  DiskStream(Device& device, DiskTier& tier, const std::vector<std::span<std::byte>>& buffers, const std::string& name);
  template <class Move>
  void inPieces(std::size_t range, Bytes bytes, const Move& move);

  Device& m_device;
  std::vector<Buffer> m_buffers;
  std::size_t m_next = 0;
  const Bytes m_bufferBytes;
  std::unique_ptr<Stream> m_in, m_out;
  DiskQueue m_queue; ///< destroyed first: it fails the signals that the streams may wait for
};

} // namespace millrace
