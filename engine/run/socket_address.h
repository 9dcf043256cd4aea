// The address of a Unix socket in a folder of any depth: a socket's own path may have 107 bytes only.
#pragma once

#include "base/file.h"
#include "run/descriptor.h"

#include <sys/socket.h>
#include <sys/un.h>

namespace millrace {

/// Keep it alive while the address is in use: a long path is reached through its folder's open descriptor.
struct SocketAddress {
  Descriptor folder;
  sockaddr_un address = {};

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
  static constexpr socklen_t size() { return sizeof(sockaddr_un); }
};

/// BadInput when the folder cannot be opened.
Result<SocketAddress> socketAddress(const Path& socket);

} // namespace millrace
