#include "run/socket_address.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <system_error>

namespace millrace {

Result<SocketAddress> socketAddress(const Path& socket) {
  SocketAddress result;
  const Path folder = socket.has_parent_path() ? socket.parent_path() : Path(".");
  result.folder = Descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!result.folder.valid())
    return badInput(fmt::format("{}: cannot open the folder: {}", folder.string(),
                                std::error_code(errno, std::generic_category()).message()));
  std::string name = socket.string();
  if (name.size() >= sizeof result.address.sun_path)
    name = fmt::format("/proc/self/fd/{}/{}", result.folder.get(), socket.filename().string());
  if (name.size() >= sizeof result.address.sun_path)
    return badInput(fmt::format("{}: the name of the socket is too long", socket.string()));
  result.address.sun_family = AF_UNIX;
  std::memcpy(result.address.sun_path, name.c_str(), name.size() + 1);
  return result;
}

} // namespace millrace
