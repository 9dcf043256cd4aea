// The Unix socket `control` of a live run: one JSON request a line in, one JSON line back; `watch` is then sent every
// published event. Reachable by the owner of the run directory alone.
#pragma once

#include "base/json_reader.h"
#include "run/run_directory.h"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace millrace {

/// Called on the server's thread, one at a time; they should hand the request on and return at once. An error goes back
/// to the client.
struct ControlHandlers {
  std::function<Json()> status; ///< an object
  std::function<Status()> pause;
  std::function<Status()> resume;
  std::function<Status()> checkpoint;
  std::function<Status()> stop;
};

/// Bounds on what clients may cost; a client that goes beyond is dropped.
struct ControlLimits {
  std::size_t clients = 32;
  std::size_t requestBytes = 4096;
  std::size_t waitingBytes = 1 << 20;                        ///< of replies or events that a client does not take
  std::chrono::milliseconds idle = std::chrono::seconds(30); ///< without a request; a watching client may be silent
};

/// The serving side, with one thread of its own.
class ControlServer {
 public:
  /// Replaces a socket that a dead process left, which the lock makes safe. Failed where the file system has no
  /// sockets: a run can go on without. The handlers are called until the destructor has returned.
  static Result<std::unique_ptr<ControlServer>> start(const RunDirectory& run, const OwnerLock& owner,
                                                      ControlHandlers handlers, const ControlLimits& limits = {});
  ~ControlServer();
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

  /// Sends a line to every client that watches. Any thread; never waits for a client.
  void publish(std::string_view line);

 private:
  class Implementation;
  explicit ControlServer(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> m_implementation;
};

/// Sends one request to a live run and returns its reply; {"ok": false, "error": ...} becomes an error. BadInput when
/// no process serves the run.
Result<Json> sendControl(const RunDirectory& run, const Json& request,
                         std::chrono::milliseconds timeout = std::chrono::seconds(10));

} // namespace millrace
