// The streams of a run: compute, copies in, copies out. Each direction of the bus has its own, so that weights come in
// while gradients leave and layers compute; what comes from the disk or goes there has streams of its own, so that
// nothing that is in memory waits behind it.
#pragma once

#include "device/device.h"
#include "stream/disk_stream.h"

#include <memory>

namespace millrace {

struct Streams {
  /// disk: null where the plan has nothing there.
  Streams(Device& device, const PlannedMemory& memory, DiskTier* disk)
      : compute(device.createStream("compute")),
        copyIn(device.createStream("copy-in")),
        copyOut(device.createStream("copy-out")) {
    if (!disk) return;
    diskWeights = DiskStream::create(device, *disk, memory, &allocation_name::diskWeights, "disk-weights");
    diskGradients = DiskStream::create(device, *disk, memory, &allocation_name::diskGradients, "disk-gradients");
  }

  std::unique_ptr<Stream> compute, copyIn, copyOut;
  std::unique_ptr<DiskStream> diskWeights, diskGradients; ///< null where no plane of that kind is on disk

  void synchronize() {
    compute->synchronize();
    copyIn->synchronize();
    copyOut->synchronize();
    for (DiskStream* disk : {diskWeights.get(), diskGradients.get()})
      if (disk) disk->synchronize();
  }
};

} // namespace millrace
