// The three streams of a run: compute, copies in, copies out. Each direction of the bus has its own, so that weights
// come in while gradients leave and layers compute.
#pragma once

#include "device/device.h"

#include <memory>

namespace millrace {

struct Streams {
  explicit Streams(Device& device)
      : compute(device.createStream("compute")),
        copyIn(device.createStream("copy-in")),
        copyOut(device.createStream("copy-out")) {}

  std::unique_ptr<Stream> compute, copyIn, copyOut;

  void synchronize() {
    compute->synchronize();
    copyIn->synchronize();
    copyOut->synchronize();
  }
};

} // namespace millrace
