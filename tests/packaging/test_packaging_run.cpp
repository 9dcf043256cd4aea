// packaging/run and packaging/test with a made-up CMake: what they build and start, and how they end.
#include "packaging/sandbox.h"

#include <QtTest>
#include <algorithm>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace {

/// A checkout in the sandbox with this tree's scripts, on a machine where every package is there.
void addCheckout(const Sandbox& sandbox) {
  for (const char* name : {"dependencies", "run", "test", "common.sh"}) {
    QDir().mkpath(sandbox.path("checkout/packaging"));
    QFile::copy(QStringLiteral(MILLRACE_SOURCE_DIR) + "/packaging/" + name,
                sandbox.path(QString("checkout/packaging/") + name));
  }
  sandbox.file("checkout/projects/quickstart.json", "{}");
  sandbox.command("dpkg-query",
                  "while [ \"${1#-}\" != \"$1\" ]; do shift; done; shift; printf '%s installed\\n' \"$@\"");
  sandbox.command("ccache", "exit 1");
  // Configuring leaves a cache, building a program that says how it was called.
  sandbox.command("cmake", R"script(
    if [ -e "$SANDBOX/broken" ]; then echo "CMake Error: broken"; exit 1; fi
    if [ "$1" = --preset ]; then
      mkdir -p "$4/app" "$4/CMakeFiles"
      if [ -e "$4/CMakeFiles/old" ]; then echo "kept an old cache" >>"$SANDBOX/log"; fi
      printf 'CMAKE_HOME_DIRECTORY:INTERNAL=%s\nCMAKE_GENERATOR:INTERNAL=Ninja\n' "$PWD" >"$4/CMakeCache.txt"
      exit 0
    fi
    for program in millrace millrace-workbench; do
      case "$* " in *" $program "*)
        printf '#!/bin/bash\nprintf "%%s\\n" %s "$@"\n' "$program" >"$2/app/$program"
        chmod +x "$2/app/$program" ;;
      esac
    done)script");
  sandbox.command("ctest", "echo 'Total Test time (real) = 1.00 sec'; exit 8");
}

QStringList lines(const QString& text) {
  return text.split('\n', Qt::SkipEmptyParts);
}

/// Somebody who listens at a Unix socket, as a display server does.
class Listener {
 public:
  explicit Listener(const QString& path) : m_socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    const QByteArray name = QFile::encodeName(path);
    if (m_socket < 0 || name.size() >= static_cast<int>(sizeof address.sun_path)) return;
    std::copy(name.begin(), name.end(), address.sun_path);
    m_listening = ::bind(m_socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
                  ::listen(m_socket, 1) == 0;
  }
  ~Listener() { ::close(m_socket); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  bool listening() const { return m_listening; }

 private:
  int m_socket;
  bool m_listening = false;
};

} // namespace

class TestPackagingRun : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void trainsTheQuickstart() {
    Sandbox sandbox;
    addCheckout(sandbox);
    const QString script = sandbox.path("checkout/packaging/run");
    const Outcome outcome = sandbox.run(script, {"--set", "name=two words"});
    QVERIFY2(outcome.code == 0, qPrintable(outcome.err));
    QCOMPARE(lines(outcome.out), (QStringList{"millrace", "train", sandbox.path("checkout/projects/quickstart.json"),
                                              "--resume-or-start", "--set", "name=two words"}));
    const QStringList cmake = sandbox.log().filter(QRegularExpression("^cmake "));
    QCOMPARE(cmake.size(), 2);
    QVERIFY2(cmake[0].contains("--preset release -B " + sandbox.path("checkout/build/release")), qPrintable(cmake[0]));
    QVERIFY2(cmake[0].contains("-DMILLRACE_WORKBENCH=OFF"), qPrintable(cmake[0])); // no Qt is asked for
    QVERIFY2(cmake[1].contains("--target millrace") && !cmake[1].contains("workbench"), qPrintable(cmake[1]));
  }

  void opensTheWorkbenchWhereADisplayOpens_data() {
    QTest::addColumn<bool>("socket");
    QTest::addColumn<QString>("program");
    QTest::newRow("somebody listens") << true << "millrace-workbench";
    QTest::newRow("nobody listens") << false << "millrace";
  }
  void opensTheWorkbenchWhereADisplayOpens() {
    QFETCH(bool, socket);
    QFETCH(QString, program);
    Sandbox sandbox;
    addCheckout(sandbox);
    const QTemporaryDir runtime; // sockets need short paths
    const Listener listener(socket ? runtime.filePath("wayland-7") : runtime.filePath("another"));
    QVERIFY(listener.listening());
    const Outcome outcome = sandbox.run(sandbox.path("checkout/packaging/run"), {},
                                        {{"WAYLAND_DISPLAY", "wayland-7"}, {"XDG_RUNTIME_DIR", runtime.path()}});
    QVERIFY2(outcome.code == 0, qPrintable(outcome.err));
    QCOMPARE(lines(outcome.out).value(0), program);
    QVERIFY(lines(outcome.out).contains(sandbox.path("checkout/projects/quickstart.json")));
    QVERIFY(QFile::exists(sandbox.path("checkout/build/release/app/millrace"))); // for runs that outlive the window
  }

  void aDisplayThatDoesNotOpenIsNone() {
    Sandbox sandbox;
    addCheckout(sandbox);
    for (const char* display : {":987", "unix:987", "nonsense", ":", "127.0.0.1:59000"}) {
      const Outcome outcome = sandbox.run(sandbox.path("checkout/packaging/run"), {}, {{"DISPLAY", display}});
      QVERIFY2(outcome.code == 0 && lines(outcome.out).value(0) == "millrace", display);
    }
  }

  void failingToConfigureShowsWhy() {
    Sandbox sandbox;
    addCheckout(sandbox);
    sandbox.file("broken", "");
    const Outcome outcome = sandbox.run(sandbox.path("checkout/packaging/run"), {});
    QVERIFY(outcome.code != 0);
    QVERIFY2(outcome.err.contains("CMake Error: broken"), qPrintable(outcome.err));
    QCOMPARE(outcome.out, QString());
  }

  void movedCheckoutIsConfiguredAfresh() {
    Sandbox sandbox;
    addCheckout(sandbox);
    sandbox.file("checkout/build/release/CMakeCache.txt",
                 "CMAKE_HOME_DIRECTORY:INTERNAL=/elsewhere\nCMAKE_GENERATOR:INTERNAL=Ninja\n");
    sandbox.file("checkout/build/release/CMakeFiles/old", "");
    QCOMPARE(sandbox.run(sandbox.path("checkout/packaging/run"), {}).code, 0);
    QVERIFY(!sandbox.log().contains("kept an old cache"));
    // And one that belongs here is kept.
    sandbox.file("checkout/build/release/CMakeFiles/old", "");
    QCOMPARE(sandbox.run(sandbox.path("checkout/packaging/run"), {}).code, 0);
    QVERIFY(sandbox.log().contains("kept an old cache"));
  }

  void anothersBuildFolderIsLeftAlone() {
    Sandbox sandbox;
    addCheckout(sandbox);
    sandbox.file("checkout/build/release/theirs", "");
    // Root may write everywhere, so what `find` says of the folder is made up: one file cannot be written.
    sandbox.command("find", "printf '%s\\n' \"$1/theirs\"");
    const Outcome outcome = sandbox.run(sandbox.path("checkout/packaging/run"), {});
    QVERIFY2(outcome.code == 0, qPrintable(outcome.err));
    QCOMPARE(lines(outcome.out).value(0), QString("millrace"));
    QVERIFY2(outcome.err.contains("cannot be written by this user"), qPrintable(outcome.err));
    QVERIFY(!QFile::exists(sandbox.path("checkout/build/release/CMakeCache.txt")));
    QVERIFY(sandbox.log().filter("--preset").value(0).contains("-B " + sandbox.path("home/.cache/millrace/")));
  }

  void readOnlyCheckout() {
    if (geteuid() == 0) QSKIP("root may write everywhere");
    Sandbox sandbox;
    addCheckout(sandbox);
    QFile::setPermissions(sandbox.path("checkout"), QFile::ReadOwner | QFile::ExeOwner);
    const Outcome outcome = sandbox.run(sandbox.path("checkout/packaging/run"), {});
    QFile::setPermissions(sandbox.path("checkout"), QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
    QVERIFY2(outcome.code == 0, qPrintable(outcome.err));
    QCOMPARE(lines(outcome.out).value(0), QString("millrace"));
  }

  void testsEndWithCtest_data() {
    QTest::addColumn<QStringList>("arguments");
    QTest::addColumn<QString>("folder");
    QTest::addColumn<QString>("option");
    QTest::addColumn<QString>("passedOn");
    QTest::newRow("plain") << QStringList{} << "build/test"
                           << "-DMILLRACE_WERROR=OFF"
                           << "";
    QTest::newRow("warnings are errors") << QStringList{"--werror"} << "build/dev"
                                         << "-DMILLRACE_WERROR=ON"
                                         << "";
    QTest::newRow("some tests") << QStringList{"-R", "project"} << "build/test"
                                << "-DMILLRACE_WERROR=OFF"
                                << " -R project";
  }
  void testsEndWithCtest() {
    QFETCH(QStringList, arguments);
    QFETCH(QString, folder);
    QFETCH(QString, option);
    QFETCH(QString, passedOn);
    Sandbox sandbox;
    addCheckout(sandbox);
    const Outcome outcome = sandbox.run(sandbox.path("checkout/packaging/test"), arguments);
    QCOMPARE(outcome.code, 8); // ctest's own
    QCOMPARE(outcome.out, QString("Total Test time (real) = 1.00 sec\n"));
    const QString configured = sandbox.log().filter("--preset dev").value(0);
    QVERIFY2(configured.contains("-B " + sandbox.path("checkout/" + folder)) && configured.contains(option),
             qPrintable(configured));
    const QString called = sandbox.log().filter(QRegularExpression("^ctest ")).value(0);
    QVERIFY2(called.contains("--output-on-failure") && called.contains("--no-tests=error") && called.endsWith(passedOn),
             qPrintable(called));
  }
};

QTEST_GUILESS_MAIN(TestPackagingRun)
#include "test_packaging_run.moc"
