#include "run/owner_lock.h"

#include "base/json_reader.h"
#include "run/other_process.h"

#include <QTemporaryDir>
#include <QTest>
#include <sys/stat.h>
#include <unistd.h>

using namespace millrace;
using test::OtherProcess;

class TestOwnerLock : public QObject {
  Q_OBJECT

  LocalFileSystem m_files;
  std::unique_ptr<QTemporaryDir> m_temporary;

  Path owner() const { return Path(m_temporary->path().toStdString()) / "owner"; }
  QString folder() const { return m_temporary->path(); }

  /// Writes the record that some process would have left.
  void leave(OwnerRecord record, bool ended = false) {
    Json json = {{"host", record.process.host},
                 {"boot_id", record.process.bootId},
                 {"pid_namespace", record.process.pidNamespace},
                 {"pid", record.process.pid},
                 {"start_ticks", record.process.startTicks},
                 {"since", record.since},
                 {"heartbeat", record.heartbeat}};
    if (ended) json["ended"] = record.heartbeat;
    leaveText(json.dump());
  }
  void leaveText(const std::string& text) {
    auto file = m_files.open(owner(), OpenMode::Create);
    QVERIFY((*file)->write(std::as_bytes(std::span(text)), 0).has_value());
  }
  static OwnerRecord here() {
    OwnerRecord record;
    record.process = currentProcess();
    record.since = record.heartbeat = unixTime();
    return record;
  }

 private Q_SLOTS:
  void init() { m_temporary = std::make_unique<QTemporaryDir>(); }

  void recordSaysWhoHoldsIt() {
    auto lock = OwnerLock::acquire(owner());
    QVERIFY2(lock.has_value(), lock ? "" : lock.error().message.c_str());
    const OwnerProbe probe = probeOwner(owner());
    QVERIFY(probe.live && probe.record);
    QVERIFY(probe.record->process == currentProcess());
    QCOMPARE(probe.record->process.pid, std::int64_t{::getpid()});
    QVERIFY(probe.record->process.startTicks > 0);
    QVERIFY(std::abs(probe.record->since - unixTime()) < 60);
    QVERIFY(!probe.record->ended);
    struct stat info = {};
    QCOMPARE(::stat(owner().c_str(), &info), 0);
    QCOMPARE(info.st_mode & 0777u, 0600u);
  }

  void secondHolderInOneProcessIsRefused() {
    auto first = OwnerLock::acquire(owner());
    QVERIFY(first.has_value());
    QVERIFY(!OwnerLock::acquire(owner()));
    first->reset();
    QVERIFY(OwnerLock::acquire(owner()).has_value());
  }

  void anotherProcessIsNamed() {
    OtherProcess other({"hold", folder()});
    QCOMPARE(other.line(), QByteArray("held"));
    const auto refused = OwnerLock::acquire(owner());
    QVERIFY(!refused);
    QCOMPARE(refused.error().kind, ErrorKind::BadInput);
    const std::string& message = refused.error().message;
    QVERIFY2(message.find("process " + std::to_string(other.id())) != std::string::npos, message.c_str());
    QVERIFY2(message.find("on host " + currentProcess().host) != std::string::npos, message.c_str());
    QVERIFY2(message.find("UTC") != std::string::npos, message.c_str());
    QVERIFY(probeOwner(owner()).live);
    QCOMPARE(probeOwner(owner()).record->process.pid, std::int64_t{other.id()}); // the refusal left the record alone
  }

  void killedHolderLosesIt() {
    OtherProcess other({"hold", folder()});
    QCOMPARE(other.line(), QByteArray("held"));
    const auto pid = other.id();
    other.kill();
    const OwnerProbe probe = probeOwner(owner());
    QVERIFY(!probe.live);
    QVERIFY(probe.record && probe.record->process.pid == pid && !probe.record->ended);
    QVERIFY(OwnerLock::acquire(owner()).has_value());
  }

  void orderlyEndIsRecorded_data() {
    QTest::addColumn<QString>("state");
    QTest::newRow("finished") << "finished";
    QTest::newRow("failed") << "failed";
    QTest::newRow("interrupted") << "interrupted";
  }
  void orderlyEndIsRecorded() {
    QFETCH(QString, state);
    OtherProcess other({"hold", folder()});
    QCOMPARE(other.line(), QByteArray("held"));
    other.tell(state.toUtf8());
    QCOMPARE(other.line(), QByteArray("said"));
    QVERIFY(probeOwner(owner()).live); // until the process lets go
    QCOMPARE(other.finish(), 0);
    const OwnerProbe probe = probeOwner(owner());
    QVERIFY(!probe.live && probe.record && probe.record->ended);
    QCOMPARE(QString::fromStdString(std::string(toString(probe.record->endState))), state);
    QCOMPARE(probe.record->endReason, std::string("because"));
  }

  void onlyOneOfManyGetsIt() {
    std::vector<std::unique_ptr<OtherProcess>> others;
    for (int i = 0; i < 6; ++i) others.push_back(std::make_unique<OtherProcess>(QStringList{"hold", folder()}));
    int held = 0, refused = 0;
    for (auto& other : others) (other->line() == "held" ? held : refused) += 1;
    QCOMPARE(held, 1);
    QCOMPARE(refused, 5);
  }

  void staleRecordsAreRecognised_data() {
    QTest::addColumn<int>("kind");
    QTest::newRow("before a reboot") << 0;
    QTest::newRow("process id used again") << 1;
    QTest::newRow("process gone") << 2;
    QTest::newRow("another host, long silent") << 3;
    QTest::newRow("another host, recent, but the file system is local") << 4;
    QTest::newRow("garbage") << 5;
    QTest::newRow("zeros") << 6;
    QTest::newRow("empty") << 7;
  }
  void staleRecordsAreRecognised() {
    QFETCH(int, kind);
    OwnerRecord record = here();
    if (kind == 0) record.process.bootId = "00000000-0000-0000-0000-000000000000";
    if (kind == 1) record.process.startTicks += 1;
    if (kind == 2) record.process.pid = 0x3FFFFFFF;
    if (kind == 3 || kind == 4) {
      record.process.host = "elsewhere";
      record.process.bootId = "00000000-0000-0000-0000-000000000000";
    }
    if (kind == 3) record.heartbeat -= 3600;
    if (kind <= 4) leave(record);
    if (kind == 5) leaveText("not JSON");
    if (kind == 6) leaveText(std::string(2048, '\0'));
    if (kind == 7) leaveText("");
    QVERIFY(!probeOwner(owner()).live);
    const auto lock = OwnerLock::acquire(owner());
    QVERIFY2(lock.has_value(), lock ? "" : lock.error().message.c_str());
    QVERIFY(probeOwner(owner()).record->process == currentProcess());
  }

  void liveness_data() {
    QTest::addColumn<int>("kind");
    QTest::addColumn<int>("expected");
    QTest::newRow("this process") << 0 << int(Liveness::Alive);
    QTest::newRow("its id, started at another time") << 1 << int(Liveness::Dead);
    QTest::newRow("no such process") << 2 << int(Liveness::Dead);
    QTest::newRow("another boot of this host") << 3 << int(Liveness::Dead);
    QTest::newRow("another host") << 4 << int(Liveness::Unknown);
    QTest::newRow("another process namespace") << 5 << int(Liveness::Unknown);
    QTest::newRow("no boot id") << 6 << int(Liveness::Unknown);
  }
  void liveness() {
    QFETCH(int, kind);
    QFETCH(int, expected);
    ProcessIdentity process = currentProcess();
    if (process.host.starts_with("localhost") && kind == 3) QSKIP("a host called localhost is not recognised");
    if (kind == 1) process.startTicks += 1;
    if (kind == 2) process.pid = 0x3FFFFFFF;
    if (kind == 3 || kind == 4) process.bootId = "00000000-0000-0000-0000-000000000000";
    if (kind == 4) process.host = "elsewhere";
    if (kind == 5) process.pidNamespace = "pid:[1]";
    if (kind == 6) process.bootId.clear();
    QCOMPARE(int(livenessOf(process)), expected);
  }

  void livenessOfAnotherProcess() {
    OtherProcess other({"hold", folder()});
    QCOMPARE(other.line(), QByteArray("held"));
    const ProcessIdentity process = probeOwner(owner()).record->process;
    QCOMPARE(livenessOf(process), Liveness::Alive);
    other.kill();
    QCOMPARE(livenessOf(process), Liveness::Dead);
  }

  void noFileNoOwner() {
    const OwnerProbe probe = probeOwner(owner());
    QVERIFY(!probe.live && !probe.record);
    QVERIFY(!m_files.exists(owner()));
  }

  void linksAreNotFollowed() {
    const Path target = Path(folder().toStdString()) / "precious";
    leaveText("precious");
    QCOMPARE(::rename(owner().c_str(), target.c_str()), 0);
    QCOMPARE(::symlink(target.c_str(), owner().c_str()), 0);
    QVERIFY(!OwnerLock::acquire(owner()));
    QCOMPARE(*readTextFile(m_files, target), std::string("precious"));
  }

  void longReasonsFit() {
    {
      auto lock = OwnerLock::acquire(owner());
      (*lock)->finish(RunState::Failed, std::string(100000, 'x') + "\xFF");
    }
    const OwnerProbe probe = probeOwner(owner());
    QVERIFY(probe.record && probe.record->ended && probe.record->endState == RunState::Failed);
    QVERIFY(probe.record->endReason.starts_with("xxx"));
  }
};

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "hold") {
    const auto lock = OwnerLock::acquire(Path(argv[2]) / "owner");
    test::report(lock ? "held" : "refused");
    const std::string state = test::nextCommand();
    if (!lock || state.empty()) return 0;
    (*lock)->finish(state == "finished" ? RunState::Finished
                    : state == "failed" ? RunState::Failed
                                        : RunState::Interrupted,
                    "because");
    test::report("said");
    (void)test::nextCommand();
    return 0;
  }
  QCoreApplication application(argc, argv);
  TestOwnerLock tests;
  return QTest::qExec(&tests, argc, argv);
}
#include "test_owner_lock.moc"
