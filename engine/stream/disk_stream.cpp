#include "stream/disk_stream.h"

#include <algorithm>

namespace millrace {

std::unique_ptr<DiskStream> DiskStream::create(Device& device, DiskTier& tier, const PlannedMemory& memory,
                                               std::string (*naming)(int), const std::string& name) {
  const std::vector<std::span<std::byte>> buffers = memory.buffers(naming);
  if (buffers.empty()) return nullptr;
  return std::unique_ptr<DiskStream>(new DiskStream(device, tier, buffers, name));
}

DiskStream::DiskStream(Device& device, DiskTier& tier, const std::vector<std::span<std::byte>>& buffers,
                       const std::string& name)
    : m_device(device),
      m_bufferBytes(static_cast<Bytes>(buffers.front().size())),
      m_in(device.createStream(name + "-in")),
      m_out(device.createStream(name + "-out")),
      m_queue(tier) {
  for (const std::span<std::byte> buffer : buffers) m_buffers.push_back({buffer.data(), Event()});
}

/// move(buffer, slice, first) for each piece of a plane, first in bytes; a buffer that holds no whole plane holds whole
/// granules.
template <class Move>
void DiskStream::inPieces(std::size_t range, Bytes bytes, const Move& move) {
  const Bytes most = m_bufferBytes >= bytes ? bytes : m_bufferBytes / diskGranule * diskGranule;
  for (Bytes first = 0; first < bytes; first += most) {
    Buffer& buffer = m_buffers[m_next];
    m_next = (m_next + 1) % m_buffers.size();
    move(buffer, DiskSlice{range, first, std::min(most, bytes - first)});
  }
}

void DiskStream::read(std::size_t range, const Event& current, void* destination, Bytes bytes) {
  inPieces(range, bytes, [&](Buffer& buffer, const DiskSlice& slice) {
    const HostSignal arrived = m_device.createHostSignal();
    m_queue.submit({DiskOperation::Kind::Read, {current, buffer.free}, {slice, buffer.data}, arrived});
    m_in->wait(arrived.event(), Stall::Weights);
    m_in->copy(static_cast<std::byte*>(destination) + slice.first, buffer.data, slice.bytes);
    buffer.free = m_in->record();
  });
}

Event DiskStream::write(std::size_t range, const void* source, Bytes bytes) {
  Event written;
  inPieces(range, bytes, [&](Buffer& buffer, const DiskSlice& slice) {
    m_out->wait(buffer.free, Stall::Gradients);
    m_out->copy(buffer.data, static_cast<const std::byte*>(source) + slice.first, slice.bytes);
    const HostSignal arrived = m_device.createHostSignal();
    m_queue.submit({DiskOperation::Kind::Write, {m_out->record()}, {slice, buffer.data}, arrived});
    written = buffer.free = arrived.event();
  });
  return written; // transfers are announced in order
}

void DiskStream::synchronize() {
  m_in->synchronize();
  m_out->synchronize();
  for (const Buffer& buffer : m_buffers) buffer.free.synchronize();
}

} // namespace millrace
