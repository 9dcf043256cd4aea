#include "run/control_socket.h"

#include "base/atomic_file.h"
#include "run/descriptor.h"
#include "run/socket_address.h"

#include <QElapsedTimer>
#include <QTemporaryDir>
#include <QTest>
#include <atomic>
#include <csignal>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <thread>

using namespace millrace;
using namespace std::chrono_literals;

namespace {

/// A client that can misbehave.
class RawClient {
 public:
  explicit RawClient(const RunDirectory& run) : m_socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const auto address = socketAddress(run.control());
    m_connected = address && ::connect(m_socket.get(), address->get(), SocketAddress::size()) == 0;
  }
  bool connected() const { return m_connected; }
  /// What was sent; less than all when the server closed or does not read for a second.
  std::size_t send(std::string_view bytes) {
    std::size_t sent = 0;
    while (sent < bytes.size()) {
      pollfd polled = {m_socket.get(), POLLOUT, 0};
      if (::poll(&polled, 1, 1000) <= 0) break;
      const ssize_t put = ::send(m_socket.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (put < 0) break;
      sent += static_cast<std::size_t>(put);
    }
    return sent;
  }
  void endSending() { ::shutdown(m_socket.get(), SHUT_WR); }
  /// The next line; "closed" at the end, "silence" when nothing came for as long.
  std::string line(int milliseconds = 10000) {
    for (;;) {
      if (const auto end = m_input.find('\n'); end != std::string::npos) {
        std::string line = m_input.substr(0, end);
        m_input.erase(0, end + 1);
        return line;
      }
      pollfd polled = {m_socket.get(), POLLIN, 0};
      if (::poll(&polled, 1, milliseconds) <= 0) return "silence";
      char buffer[65536];
      const ssize_t got = ::recv(m_socket.get(), buffer, sizeof buffer, 0);
      if (got <= 0) return "closed";
      m_input.append(buffer, static_cast<std::size_t>(got));
    }
  }

 private:
  Descriptor m_socket;
  bool m_connected = false;
  std::string m_input;
};

} // namespace

class TestControlSocket : public QObject {
  Q_OBJECT

  LocalFileSystem m_files;
  std::unique_ptr<QTemporaryDir> m_temporary;
  std::optional<OwnedRun> m_run;
  std::atomic<int> m_paused{0};
  std::atomic<int> m_stopped{0};

  std::unique_ptr<ControlServer> serve(const ControlLimits& limits = {}) {
    ControlHandlers handlers;
    handlers.status = [] { return Json{{"step", 7}}; };
    handlers.pause = [this]() -> Status {
      ++m_paused;
      return {};
    };
    handlers.resume = []() -> Status { return failed("it is not paused"); };
    handlers.checkpoint = []() -> Status { throw EngineException({ErrorKind::Failed, "thrown"}); };
    handlers.stop = [this]() -> Status {
      ++m_stopped;
      return {};
    };
    auto server = ControlServer::start(m_run->directory, *m_run->owner, handlers, limits);
    return server ? std::move(*server) : nullptr;
  }
  Result<Json> request(const std::string& command) { return sendControl(m_run->directory, {{"command", command}}); }
  bool serves() { return request("status").has_value(); }

 private Q_SLOTS:
  void initTestCase() { ::signal(SIGPIPE, SIG_DFL); } // a broken pipe would end the test
  void init() {
    m_run.reset();
    m_temporary = std::make_unique<QTemporaryDir>();
    auto run = createRun(m_files, Path(m_temporary->path().toStdString()) / "run");
    QVERIFY(run.has_value());
    m_run.emplace(std::move(*run));
    m_paused = m_stopped = 0;
  }

  void commandsAreAnswered() {
    const auto server = serve();
    QVERIFY(server);
    const auto status = request("status");
    QVERIFY2(status.has_value(), status ? "" : status.error().message.c_str());
    QVERIFY((*status)["status"]["step"] == 7);
    QVERIFY(request("pause").has_value());
    QCOMPARE(m_paused.load(), 1);
    QVERIFY(request("stop").has_value());
    QCOMPARE(m_stopped.load(), 1);
    const auto resumed = request("resume");
    QVERIFY(!resumed && resumed.error().message.find("it is not paused") != std::string::npos);
    const auto thrown = request("checkpoint");
    QVERIFY(!thrown && thrown.error().message.find("thrown") != std::string::npos);
  }

  void badRequestsAreAnsweredAndTheNextIsServed_data() {
    QTest::addColumn<QByteArray>("line");
    QTest::addColumn<QString>("message");
    QTest::newRow("not JSON") << QByteArray("status") << "not valid JSON";
    QTest::newRow("empty line") << QByteArray("") << "not valid JSON";
    QTest::newRow("no object") << QByteArray("[]") << "expected an object";
    QTest::newRow("no command") << QByteArray("{}") << "command is missing";
    QTest::newRow("unknown command") << QByteArray("{\"command\":\"explode\"}") << "expected one of: status";
    QTest::newRow("unknown key") << QByteArray("{\"command\":\"status\",\"force\":1}") << "force is not a known key";
    QTest::newRow("command a number") << QByteArray("{\"command\":5}") << "expected a text";
    QTest::newRow("binary") << QByteArray("\x00\xFF\xFE\x80", 4) << "not valid JSON";
    QTest::newRow("deep") << QByteArray(2000, '[') << "nested deeper";
  }
  void badRequestsAreAnsweredAndTheNextIsServed() {
    QFETCH(QByteArray, line);
    QFETCH(QString, message);
    const auto server = serve();
    RawClient client(m_run->directory);
    client.send(line.toStdString() + "\n");
    const std::string reply = client.line();
    QVERIFY2(reply.find(message.toStdString()) != std::string::npos, reply.c_str());
    QVERIFY(reply.starts_with("{\"ok\":false"));
    client.send("{\"command\":\"status\"}\n");
    QCOMPARE(client.line(), std::string("{\"ok\":true,\"status\":{\"step\":7}}"));
  }

  void requestsMayComeInAnyPieces() {
    const auto server = serve();
    RawClient client(m_run->directory);
    for (const char c : std::string("{\"command\":\"pause\"}\n{\"comm")) client.send(std::string(1, c));
    QCOMPARE(client.line(), std::string("{\"ok\":true}"));
    client.send("and\":\"pause\"}\n{\"command\":\"stop\"}\n{\"command\":\"pause\"}\n");
    for (int i = 0; i < 3; ++i) QCOMPARE(client.line(), std::string("{\"ok\":true}"));
    QCOMPARE(m_paused.load(), 3);
    QCOMPARE(m_stopped.load(), 1);
  }

  void halfClosedClientGetsItsReply() {
    const auto server = serve();
    RawClient client(m_run->directory);
    client.send("{\"command\":\"pause\"}\n");
    client.endSending();
    QCOMPARE(client.line(), std::string("{\"ok\":true}"));
    QCOMPARE(client.line(), std::string("closed"));
  }

  void unfinishedRequestIsNotCarriedOut() {
    const auto server = serve();
    RawClient client(m_run->directory);
    client.send("{\"command\":\"stop\"}"); // no line end
    client.endSending();
    QCOMPARE(client.line(), std::string("closed"));
    QCOMPARE(m_stopped.load(), 0);
  }

  void endlessLineIsDropped() {
    const auto server = serve();
    RawClient client(m_run->directory);
    const std::string flood(64 << 20, 'x');
    const std::size_t sent = client.send(flood);
    QVERIFY(sent < flood.size());
    const std::string reply = client.line();
    QVERIFY2(reply.find("at most 4096 bytes") != std::string::npos || reply == "closed", reply.c_str());
    QVERIFY(serves());
  }

  void clientThatNeverReadsIsDropped() {
    ControlLimits limits;
    limits.waitingBytes = 10000;
    const auto server = serve(limits);
    RawClient client(m_run->directory);
    std::string requests;
    for (int i = 0; i < 1000; ++i) requests += "{\"command\":\"status\"}\n";
    std::size_t sent = 0, tried = 0;
    for (int i = 0; i < 1000 && sent == tried; ++i) {
      sent += client.send(requests);
      tried += requests.size();
    }
    QVERIFY(sent < tried);
    QVERIFY(serves());
  }

  void silentClientIsDropped() {
    ControlLimits limits;
    limits.idle = 50ms;
    const auto server = serve(limits);
    RawClient silent(m_run->directory), watching(m_run->directory);
    watching.send("{\"command\":\"watch\"}\n");
    QCOMPARE(watching.line(), std::string("{\"ok\":true}"));
    QCOMPARE(silent.line(), std::string("closed"));
    server->publish("news"); // one that watches may be silent
    QCOMPARE(watching.line(), std::string("news"));
  }

  void manyConnectionsDoNotLockTheOwnerOut() {
    ControlLimits limits;
    limits.clients = 4;
    const auto server = serve(limits);
    std::vector<std::unique_ptr<RawClient>> crowd;
    for (int i = 0; i < 40; ++i) {
      crowd.push_back(std::make_unique<RawClient>(m_run->directory));
      QVERIFY(serves());
    }
    QCOMPARE(crowd.front()->line(), std::string("closed"));
  }

  void clientThatDisappears() {
    const auto server = serve();
    for (int i = 0; i < 100; ++i) {
      RawClient client(m_run->directory);
      client.send(i % 2 ? "{\"command\":\"status\"}\n" : "{\"command\":\"watch\"}\n");
      server->publish(std::string(1000, 'y')); // and is gone before the reply: no SIGPIPE
    }
    QVERIFY(serves());
  }

  void watchersGetEveryEvent() {
    const auto server = serve();
    RawClient first(m_run->directory), second(m_run->directory), other(m_run->directory);
    server->publish("before anyone watched");
    for (RawClient* client : {&first, &second}) {
      client->send("{\"command\":\"watch\"}\n");
      QCOMPARE(client->line(), std::string("{\"ok\":true}"));
    }
    std::vector<std::thread> publishers;
    for (int p = 0; p < 2; ++p)
      publishers.emplace_back([&] {
        for (int i = 0; i < 500; ++i) server->publish("event " + std::to_string(i));
      });
    for (RawClient* client : {&first, &second}) {
      std::map<std::string, int> seen;
      for (int i = 0; i < 1000; ++i) ++seen[client->line()];
      QCOMPARE(seen.size(), std::size_t{500});
      for (const auto& [line, count] : seen) QCOMPARE(count, 2);
    }
    for (std::thread& publisher : publishers) publisher.join();
    first.send("{\"command\":\"status\"}\n"); // a watching client may still ask
    QCOMPARE(first.line(), std::string("{\"ok\":true,\"status\":{\"step\":7}}"));
    QCOMPARE(other.line(100), std::string("silence"));
  }

  void slowWatcherIsDroppedNotWaitedFor() {
    const auto server = serve();
    RawClient slow(m_run->directory);
    slow.send("{\"command\":\"watch\"}\n");
    QCOMPARE(slow.line(), std::string("{\"ok\":true}"));
    QElapsedTimer timer;
    timer.start();
    const std::string line(1000, 'z');
    for (int i = 0; i < 50000; ++i) server->publish(line);
    QVERIFY(timer.elapsed() < 20000);
    QVERIFY(serves());
    std::size_t read = 0;
    std::string last;
    while (last != "closed" && last != "silence") {
      last = slow.line();
      ++read;
    }
    QCOMPARE(last, std::string("closed"));
    QVERIFY(read < 50000);
  }

  void socketIsPrivate() {
    const auto server = serve();
    struct stat info = {};
    QCOMPARE(::stat(m_run->directory.control().c_str(), &info), 0);
    QVERIFY(S_ISSOCK(info.st_mode));
    QCOMPARE(info.st_mode & 0777u, 0600u);
  }

  void staleSocketIsReplaced_data() {
    QTest::addColumn<bool>("file");
    QTest::newRow("socket of a dead process") << false;
    QTest::newRow("a file in its place") << true;
  }
  void staleSocketIsReplaced() {
    QFETCH(bool, file);
    if (file) {
      QVERIFY(writeTextFile(m_files, m_run->directory.control(), "x").has_value());
    } else {
      const auto address = socketAddress(m_run->directory.control());
      const Descriptor socket(::socket(AF_UNIX, SOCK_STREAM, 0));
      QCOMPARE(::bind(socket.get(), address->get(), SocketAddress::size()), 0);
    }
    const auto dead = request("status");
    QVERIFY(!dead);
    if (!file) {
      QCOMPARE(dead.error().kind, ErrorKind::BadInput);
      QVERIFY2(dead.error().message.find("no process runs this run") != std::string::npos,
               dead.error().message.c_str());
    }
    const auto server = serve();
    QVERIFY(server && serves());
  }

  void endRemovesTheSocket() {
    serve().reset();
    QVERIFY(!m_files.exists(m_run->directory.control()));
    const auto reply = request("status");
    QVERIFY(!reply && reply.error().kind == ErrorKind::BadInput);
  }

  void endWithClientsConnected() {
    auto server = serve();
    RawClient idle(m_run->directory), watching(m_run->directory);
    watching.send("{\"command\":\"watch\"}\n");
    QCOMPARE(watching.line(), std::string("{\"ok\":true}"));
    server.reset();
    QCOMPARE(idle.line(), std::string("closed"));
    QCOMPARE(watching.line(), std::string("closed"));
  }

  void longPathsWork() {
    Path deep = Path(m_temporary->path().toStdString());
    while (deep.string().size() < 400) deep /= std::string(40, 'd');
    m_run.reset();
    auto run = createRun(m_files, deep);
    QVERIFY2(run.has_value(), run ? "" : run.error().message.c_str());
    m_run.emplace(std::move(*run));
    {
      const auto server = serve();
      QVERIFY(server && serves());
      QVERIFY(m_files.exists(m_run->directory.control()));
    }
    QVERIFY(!m_files.exists(m_run->directory.control()));
  }

  void clientGivesUpOnASilentServer() {
    const auto address = socketAddress(m_run->directory.control());
    const Descriptor listener(::socket(AF_UNIX, SOCK_STREAM, 0));
    QCOMPARE(::bind(listener.get(), address->get(), SocketAddress::size()), 0);
    QCOMPARE(::listen(listener.get(), 4), 0);
    const auto reply = sendControl(m_run->directory, {{"command", "status"}}, 50ms);
    QVERIFY(!reply && reply.error().message.find("did not answer within 50 ms") != std::string::npos);
  }
};

QTEST_GUILESS_MAIN(TestControlSocket)
#include "test_control_socket.moc"
