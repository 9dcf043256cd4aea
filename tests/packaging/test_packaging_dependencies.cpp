// packaging/dependencies on machines that are fresh, complete, offline, without root, or not Debian's.
#include "packaging/sandbox.h"

#include <QtTest>

namespace {

const QString script = QStringLiteral(MILLRACE_SOURCE_DIR "/packaging/dependencies");
const QStringList debian{"--system", "debian-12"};

/// A package manager whose state is the file "installed".
void addPackageManager(const Sandbox& sandbox, const QStringList& installed, const QString& user = "0") {
  sandbox.file("installed", installed.join(" installed\n") + " installed\n");
  sandbox.command("dpkg-query", "cat \"$SANDBOX/installed\"");
  sandbox.command("apt-get", R"script(
    printf 'frontend %s\n' "$DEBIAN_FRONTEND" >>"$SANDBOX/log"
    if [ -e "$SANDBOX/offline" ]; then exit 100; fi
    if [ "$1" = install ]; then
      for name in "$@"; do
        case "$name" in -* | install | *=*) ;; *) printf '%s installed\n' "$name" >>"$SANDBOX/installed" ;; esac
      done
    fi)script");
  sandbox.command("id", "echo " + user);
  sandbox.command("sudo", "exit 1");
}

QStringList allOf(const QString& system, const QString& group) {
  const Outcome outcome = Sandbox().run(script, {group, "--list", "--system", system});
  return outcome.out.split('\n', Qt::SkipEmptyParts);
}

QStringList calls(const Sandbox& sandbox, const QString& command) {
  return sandbox.log().filter(QRegularExpression("^" + command + " "));
}

} // namespace

class TestPackagingDependencies : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void scriptsParse_data() {
    QTest::addColumn<QString>("name");
    for (const char* name :
         {"packaging/dependencies", "packaging/run", "packaging/test", "packaging/common.sh", ".ci/run"})
      QTest::newRow(name) << name;
  }
  void scriptsParse() {
    QFETCH(QString, name);
    const QString path = QStringLiteral(MILLRACE_SOURCE_DIR) + "/" + name;
    const Outcome outcome = Sandbox().run("-n", {path});
    QVERIFY2(outcome.code == 0 && outcome.err.isEmpty(), qPrintable(outcome.err));
    QCOMPARE(QFileInfo(path).isExecutable(), !name.endsWith(".sh"));
  }

  void lists_data() {
    QTest::addColumn<QString>("system");
    QTest::addColumn<QString>("formatter"); // of group ci
    QTest::newRow("debian-12") << "debian-12"
                               << "clang-format";
    QTest::newRow("debian-13") << "debian-13"
                               << "";
    QTest::newRow("ubuntu-24.04") << "ubuntu-24.04"
                                  << "clang-format-14";
  }
  void lists() {
    QFETCH(QString, system);
    QFETCH(QString, formatter);
    const QStringList headless = allOf(system, "headless"), run = allOf(system, "run"), test = allOf(system, "test"),
                      ci = allOf(system, "ci");
    for (const char* name : {"cmake", "ninja-build", "g++", "libdnnl-dev", "libhwloc-dev", "nlohmann-json3-dev",
                             "libzstd-dev", "liburing-dev", "fortunes"})
      QVERIFY2(headless.contains(name), name);
    QVERIFY(headless.filter("qt").isEmpty() && headless.filter("qcustomplot").isEmpty());
    QCOMPARE(run, headless + QStringList({"qt6-base-dev", "libqt6sql6-sqlite", "qt6-svg-dev", "qt6-wayland",
                                          "libqcustomplot-dev"}));
    QCOMPARE(test, run);
    QCOMPARE(ci, formatter.isEmpty() ? test : test + QStringList{formatter});
    QCOMPARE(QSet<QString>(ci.begin(), ci.end()).size(), ci.size());
  }

  void listTouchesNothing() {
    Sandbox sandbox;
    addPackageManager(sandbox, {});
    QCOMPARE(sandbox.run(script, {"--list"}).code, 0);
    QVERIFY(sandbox.log().isEmpty());
  }

  void completeMachineAsksNobody() {
    Sandbox sandbox;
    addPackageManager(sandbox, allOf("debian-12", "test"), "1000");
    const Outcome outcome = sandbox.run(script, QStringList{"test"} + debian);
    QCOMPARE(outcome.code, 0);
    QCOMPARE(outcome.out + outcome.err, QString());
    QVERIFY(calls(sandbox, "apt-get").isEmpty());
    QVERIFY(calls(sandbox, "sudo").isEmpty());
    QCOMPARE(calls(sandbox, "dpkg-query").size(), 1);
  }

  void rootInstallsWhatIsMissingOnce() {
    Sandbox sandbox;
    QStringList installed = allOf("debian-12", "run");
    installed.removeAll("fortunes");
    installed.removeAll("g++");
    addPackageManager(sandbox, installed + QStringList{"g++-12", "fortunes-min"});
    Outcome outcome = sandbox.run(script, debian);
    QVERIFY2(outcome.code == 0, qPrintable(outcome.err));
    QCOMPARE(outcome.out, QString());
    const QStringList made = calls(sandbox, "apt-get");
    QCOMPARE(made.size(), 2);
    QVERIFY(made[0].startsWith("apt-get update"));
    QVERIFY2(made[1].startsWith("apt-get install") && made[1].contains(" -y ") &&
                 made[1].contains(" --no-install-recommends "),
             qPrintable(made[1]));
    QVERIFY2(made[1].endsWith(" g++ fortunes"), qPrintable(made[1]));
    QCOMPARE(sandbox.log().filter("frontend"), (QStringList{"frontend noninteractive", "frontend noninteractive"}));
    sandbox.clearLog();
    outcome = sandbox.run(script, debian);
    QCOMPARE(outcome.code, 0);
    QVERIFY(calls(sandbox, "apt-get").isEmpty());
  }

  void halfRemovedIsMissing() {
    Sandbox sandbox;
    addPackageManager(sandbox, allOf("debian-12", "run"));
    sandbox.file("installed", sandbox.read("installed").replace("cmake installed", "cmake config-files"));
    QCOMPARE(sandbox.run(script, debian).code, 0);
    QVERIFY(calls(sandbox, "apt-get").last().endsWith(" cmake"));
  }

  void withoutRootAndSudo() {
    Sandbox sandbox;
    QStringList installed = allOf("debian-12", "run");
    installed.removeAll("libhwloc-dev");
    addPackageManager(sandbox, installed, "1000");
    const Outcome outcome = sandbox.run(script, debian);
    QCOMPARE(outcome.code, 2);
    QVERIFY2(outcome.err.contains("\n  apt-get update && apt-get install -y --no-install-recommends libhwloc-dev\n"),
             qPrintable(outcome.err));
    QVERIFY(calls(sandbox, "apt-get").isEmpty());
  }

  void withSudo() {
    Sandbox sandbox;
    addPackageManager(sandbox, {}, "1000");
    sandbox.command("sudo", "if [ \"$1\" = -n ]; then shift; fi; exec \"$@\"");
    const Outcome outcome = sandbox.run(script, debian);
    QVERIFY2(outcome.code == 0, qPrintable(outcome.err));
    const QStringList made = calls(sandbox, "sudo").filter("apt-get");
    QCOMPARE(made.size(), 2);
    QVERIFY(made[1].contains("DEBIAN_FRONTEND=noninteractive apt-get install"));
    QVERIFY(sandbox.log().contains("frontend noninteractive"));
  }

  void offlineSaysWhatToDo() {
    Sandbox sandbox;
    addPackageManager(sandbox, {});
    sandbox.file("offline", "");
    const Outcome outcome = sandbox.run(script, debian);
    QCOMPARE(outcome.code, 1);
    QVERIFY2(outcome.err.contains("Installing failed") && outcome.err.contains("apt-get install -y"),
             qPrintable(outcome.err));
  }

  void elsewhere_data() {
    QTest::addColumn<bool>("toolsThere");
    QTest::addColumn<int>("code");
    QTest::newRow("tools are there") << true << 0;
    QTest::newRow("a tool is missing") << false << 2;
  }
  void elsewhere() {
    QFETCH(bool, toolsThere);
    Sandbox sandbox;
    // A PATH of its own: what bash needs, and no package manager.
    QDir().mkpath(sandbox.path("only"));
    for (const char* name : {"bash", "sed", "cat", "grep", "id"})
      QFile::link(QStandardPaths::findExecutable(name), sandbox.path(QString("only/") + name));
    for (const char* name : {"cmake", "c++"}) sandbox.executable(QString("only/") + name, "#!/bin/sh\n");
    if (toolsThere) sandbox.executable("only/ninja", "#!/bin/sh\n");
    const Outcome outcome = sandbox.run(script, {"test", "--system", "other"}, {{"PATH", sandbox.path("only")}});
    QTEST(outcome.code, "code");
    for (const char* part : {"oneDNN", "hwloc", "Qt 6.4"})
      QVERIFY2(outcome.err.contains(part), qPrintable(outcome.err));
    QCOMPARE(outcome.err.contains("Not found: ninja"), !toolsThere);
  }

  void wrongArguments_data() {
    QTest::addColumn<QStringList>("arguments");
    QTest::newRow("group") << QStringList{"everything"};
    QTest::newRow("system") << QStringList{"--system", "plan9"};
    QTest::newRow("system without a name") << QStringList{"--system"};
  }
  void wrongArguments() {
    QFETCH(QStringList, arguments);
    Sandbox sandbox;
    addPackageManager(sandbox, {});
    const Outcome outcome = sandbox.run(script, arguments);
    QCOMPARE(outcome.code, 2);
    QVERIFY(!outcome.err.isEmpty());
    QVERIFY(sandbox.log().isEmpty());
  }
};

QTEST_GUILESS_MAIN(TestPackagingDependencies)
#include "test_packaging_dependencies.moc"
