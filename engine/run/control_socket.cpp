#include "run/control_socket.h"

#include "base/mutex.h"
#include "run/control_client.h"
#include "run/metrics_json.h"
#include "run/socket_address.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <list>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <system_error>
#include <thread>
#include <vector>

namespace millrace {

namespace {

std::string systemMessage(int code) {
  return std::error_code(code, std::generic_category()).message();
}

tl::unexpected<Error> socketError(const Path& path, std::string_view action, int code) {
  return failed(fmt::format("{}: cannot {} the control socket: {}; the run can be stopped by signals only",
                            path.string(), action, systemMessage(code)));
}

Json errorReply(std::string message) {
  return {{"ok", false}, {"error", std::move(message)}};
}

} // namespace

class ControlServer::Implementation {
 public:
  Implementation(Path path, ControlHandlers handlers, const ControlLimits& limits)
      : m_path(std::move(path)), m_handlers(std::move(handlers)), m_limits(limits) {}

  ~Implementation() {
    if (!m_thread.joinable()) return;
    m_stopping.store(true, std::memory_order_release);
    wake();
    m_thread.join();
    ::unlinkat(m_folder.get(), m_path.filename().c_str(), 0);
  }

  Status start() {
    MILLRACE_TRY(SocketAddress address, socketAddress(m_path));
    m_wake = Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    m_listener = Descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!m_wake.valid() || !m_listener.valid()) return socketError(m_path, "create", errno);
    const std::string name = m_path.filename().string();
    if (::unlinkat(address.folder.get(), name.c_str(), 0) != 0 && errno != ENOENT)
      return socketError(m_path, "replace", errno);
    // On Linux the mode set before binding is that of the socket's file, so it is never open to others.
    if (::fchmod(m_listener.get(), 0600) != 0) return socketError(m_path, "protect", errno);
    if (::bind(m_listener.get(), address.get(), SocketAddress::size()) != 0) return socketError(m_path, "bind", errno);
    m_folder = std::move(address.folder);
    if (::listen(m_listener.get(), 16) != 0) {
      const int code = errno;
      ::unlinkat(m_folder.get(), name.c_str(), 0);
      return socketError(m_path, "listen on", code);
    }
    m_thread = std::thread([this] { serve(); });
    return {};
  }

  void publish(std::string_view line) {
    if (m_watchers.load(std::memory_order_acquire) == 0) return;
    {
      Lock lock(m_mutex);
      // A client is dropped when it is this far behind, so more need not be kept.
      if (m_publishedBytes <= m_limits.waitingBytes) {
        m_publishedBytes += line.size();
        m_published.emplace_back(line);
      } else {
        m_overflow = true;
      }
    }
    wake();
  }

 private:
  void wake() {
    const std::uint64_t one = 1;
    (void)!::write(m_wake.get(), &one, sizeof one); // a full counter is awake already
  }

  void serve() {
    std::vector<pollfd> polled;
    bool accepting = true;
    while (!m_stopping.load(std::memory_order_acquire)) {
      polled.clear();
      polled.push_back({m_wake.get(), POLLIN, 0});
      polled.push_back({accepting ? m_listener.get() : -1, POLLIN, 0});
      for (const ControlClient& client : m_clients) polled.push_back({client.socket(), client.events(), 0});
      int timeout = timeoutMilliseconds();
      if (!accepting) timeout = timeout < 0 ? 100 : std::min(timeout, 100);
      if (::poll(polled.data(), polled.size(), timeout) < 0 && errno != EINTR && errno != ENOMEM) return;
      if (polled[0].revents) {
        std::uint64_t count = 0;
        (void)!::read(m_wake.get(), &count, sizeof count);
      }
      deliver();
      std::size_t index = 2;
      for (auto client = m_clients.begin(); client != m_clients.end(); ++index) {
        const bool keep = attend(*client, polled[index].revents);
        client = keep ? std::next(client) : m_clients.erase(client);
      }
      m_watchers.store(std::count_if(m_clients.begin(), m_clients.end(), [](const auto& c) { return c.watching; }),
                       std::memory_order_release);
      accepting = !accepting || !polled[1].revents || accept();
    }
  }

  /// Until the first silent client's time is up; -1: none is being timed.
  int timeoutMilliseconds() const {
    auto first = ControlClient::Clock::time_point::max();
    for (const ControlClient& client : m_clients)
      if (!client.watching) first = std::min(first, client.heard() + m_limits.idle);
    if (first == ControlClient::Clock::time_point::max()) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(first - ControlClient::Clock::now());
    return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60000));
  }

  /// False when the process is out of descriptors: accepting rests for a moment, or poll would return at once for ever.
  bool accept() {
    Descriptor socket(::accept4(m_listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.valid()) return errno != EMFILE && errno != ENFILE && errno != ENOMEM && errno != ENOBUFS;
    if (m_clients.size() >= m_limits.clients) {
      // The longest silent one makes room, so that idle connections never lock the owner out.
      const auto oldest = std::min_element(m_clients.begin(), m_clients.end(), [](const auto& a, const auto& b) {
        return std::pair(a.watching, a.heard()) < std::pair(b.watching, b.heard());
      });
      m_clients.erase(oldest);
    }
    m_clients.emplace_back(std::move(socket));
    return true;
  }

  void deliver() {
    std::vector<std::string> lines;
    bool overflow = false;
    {
      Lock lock(m_mutex);
      lines.swap(m_published);
      overflow = std::exchange(m_overflow, false);
      m_publishedBytes = 0;
    }
    for (ControlClient& client : m_clients) {
      if (!client.watching) continue;
      for (const std::string& line : lines) client.send(line);
      if (overflow) { // better an end that it notices than a gap that it does not
        client.send(toLine(errorReply("too many events at once; read the run's files instead")));
        client.closeAfterSending();
      }
    }
  }

  /// False when the client is to be dropped.
  bool attend(ControlClient& client, short happened) {
    if (happened & (POLLERR | POLLNVAL)) return false;
    if ((happened & POLLIN) && !client.receive()) return false;
    while (const auto line = client.nextLine()) {
      client.send(toLine(answer(client, *line)));
      if (client.waitingBytes() > m_limits.waitingBytes) return false;
    }
    if (client.unfinishedBytes() > m_limits.requestBytes) {
      client.send(toLine(errorReply(fmt::format("a request has at most {} bytes", m_limits.requestBytes))));
      client.closeAfterSending();
    }
    if (!client.flush() || client.waitingBytes() > m_limits.waitingBytes || client.done()) return false;
    if ((happened & POLLHUP) && !(happened & POLLIN)) return false; // nobody is left to read
    return client.watching || ControlClient::Clock::now() - client.heard() < m_limits.idle;
  }

  Json answer(ControlClient& client, const std::string& line) try {
    const auto request = parseJson(line, "request");
    if (!request) return errorReply(request.error().message);
    JsonReader reader(*request, "request");
    if (!reader.has("command")) reader.problem("command", "is missing");
    const std::string command =
        reader.choice("command", "", {"status", "pause", "resume", "checkpoint", "stop", "watch"});
    if (const Status read = reader.finish(); !read) return errorReply(read.error().message);
    if (command == "watch") {
      client.watching = true;
      m_watchers.fetch_add(1, std::memory_order_release); // before the reply: what comes after it is not missed
      return {{"ok", true}};
    }
    if (command == "status") return {{"ok", true}, {"status", m_handlers.status ? m_handlers.status() : Json()}};
    const auto& handler = command == "pause"        ? m_handlers.pause
                          : command == "resume"     ? m_handlers.resume
                          : command == "checkpoint" ? m_handlers.checkpoint
                                                    : m_handlers.stop;
    if (!handler) return errorReply(fmt::format("this run does not take '{}'", command));
    if (const Status done = handler(); !done) return errorReply(done.error().message);
    return {{"ok", true}};
  } catch (const std::exception& problem) {
    return errorReply(problem.what());
  }

  const Path m_path;
  const ControlHandlers m_handlers;
  const ControlLimits m_limits;
  Descriptor m_folder;
  Descriptor m_listener;
  Descriptor m_wake;
  std::list<ControlClient> m_clients; // the server's thread only
  std::atomic<bool> m_stopping{false};
  std::atomic<std::int64_t> m_watchers{0};
  Mutex m_mutex;
  std::vector<std::string> m_published MILLRACE_GUARDED_BY(m_mutex);
  std::size_t m_publishedBytes MILLRACE_GUARDED_BY(m_mutex) = 0;
  bool m_overflow MILLRACE_GUARDED_BY(m_mutex) = false;
  std::thread m_thread;
};

ControlServer::ControlServer(std::unique_ptr<Implementation> implementation)
    : m_implementation(std::move(implementation)) {}

ControlServer::~ControlServer() = default;

Result<std::unique_ptr<ControlServer>> ControlServer::start(const RunDirectory& run, const OwnerLock&,
                                                            ControlHandlers handlers, const ControlLimits& limits) {
  auto implementation = std::make_unique<Implementation>(run.control(), std::move(handlers), limits);
  MILLRACE_CHECK(implementation->start());
  return std::unique_ptr<ControlServer>(new ControlServer(std::move(implementation)));
}

void ControlServer::publish(std::string_view line) {
  m_implementation->publish(line);
}

Result<Json> sendControl(const RunDirectory& run, const Json& request, std::chrono::milliseconds timeout) {
  const std::string source = run.path().string();
  MILLRACE_TRY(const SocketAddress address, socketAddress(run.control()));
  const Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return failed(fmt::format("{}: cannot create a socket: {}", source, systemMessage(errno)));
  const timeval limit = {timeout.count() / 1000, static_cast<suseconds_t>(timeout.count() % 1000 * 1000)};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  if (::connect(socket.get(), address.get(), SocketAddress::size()) != 0) {
    const int code = errno;
    if (code == ENOENT || code == ECONNREFUSED)
      return badInput(fmt::format("{}: no process runs this run now", source));
    return failed(fmt::format("{}: cannot reach the run: {}", source, systemMessage(code)));
  }
  const auto broken = [&](int code) {
    return failed(code == EAGAIN || code == EWOULDBLOCK
                      ? fmt::format("{}: the run did not answer within {} ms", source, timeout.count())
                      : fmt::format("{}: the connection to the run broke: {}", source, systemMessage(code)));
  };
  const std::string line = toLine(request) + "\n";
  for (std::size_t sent = 0; sent < line.size();) {
    const ssize_t put = ::send(socket.get(), line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return broken(errno);
    sent += static_cast<std::size_t>(put);
  }
  std::string reply;
  while (reply.find('\n') == std::string::npos) {
    char buffer[4096];
    const ssize_t got = ::recv(socket.get(), buffer, sizeof buffer, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return broken(errno);
    if (got == 0 || reply.size() > static_cast<std::size_t>(MiB)) return broken(ECONNRESET);
    reply.append(buffer, static_cast<std::size_t>(got));
  }
  reply.resize(reply.find('\n'));
  MILLRACE_TRY(Json json, parseJson(reply, source));
  JsonReader reader(json, source);
  if (!reader.boolean("ok", false)) return failed(fmt::format("{}: {}", source, reader.text("error", reply)));
  return json;
}

} // namespace millrace
