// The rules hold in this source tree, and the checker sees when they do not.
#include "architecture/layering.h"
#include "architecture/source_text.h"

#include <QTemporaryDir>
#include <QtTest>
#include <fstream>

using namespace millrace;

namespace {

namespace fs = std::filesystem;

void write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

/// A small tree without violations.
void writeCleanTree(const fs::path& root) {
  for (const char* name : {"CMakeLists.txt", "CMakePresets.json", "LICENSE", "README.md"}) write(root / name, "text\n");
  for (const char* name : {"projects/a.json", "packaging/run", "tests/base/test_a.cpp"}) write(root / name, "{}\n");
  write(root / "build/dev/anything.cpp", "#include <QWidget>\n");
  write(root / ".git/config", "anything\n");
  write(root / "engine/base/result.h", "#include <string>\n");
  write(root / "engine/tensor/tensor.h", "#include \"base/result.h\"\n");
  write(root / "engine/model/spec.h", "#include \"tensor/tensor.h\"\n");
  write(root / "engine/device/cpu/ops/kernel.cpp", "#include <immintrin.h>\n#include <oneapi/dnnl/dnnl.hpp>\n");
  write(root / "engine/device/cuda/ops/kernel.cu", "#include <cuda_runtime.h>\n__global__ void kernel() {}\n");
  write(root / "engine/hardware/nvml.cpp", "#include <nvml.h>\nconst char* name = \"libnvidia-ml.so.1\";\n");
  write(root / "engine/include/engine/run.h", "#include \"base/result.h\"\n#include \"engine/project.h\"\n");
  write(root / "engine/api/run.cpp", "#include \"engine/run.h\"\n#include \"run/run.h\"\n");
  write(root / "engine/run/run.cpp",
        "#include \"base/result.h\"\n"
        "// exit(1) and std::cout are only talked of\n"
        "const char* text = \"exit(1) // std::cout\"; const int big = 1'000'000;\n"
        "const char quote = '\"'; int n = snprintf(b, 1, \"%s\", \"x\"); loop.exit(); p->abort();\n"
        "auto raw = R\"x(printf(\"a\"); )\" )x\"; bool onExit(int); int exitCode = 0;\n");
  write(root / "app/cli/main.cpp", "#include \"command.h\"\n#include \"engine/run.h\"\n#include <CLI/CLI.hpp>\n");
  write(root / "app/cli/command.h", "#include <nlohmann/json.hpp>\n");
  write(root / "app/workbench/main.cpp", "#include \"shell/window.h\"\n#include <QApplication>\n");
  write(root / "ui/shell/window.h",
        "#include \"engine/run.h\"\n#include \"bridge/bridge.h\"\n#include <QMainWindow>\n");
  write(root / "ui/bridge/bridge.h", "#include <QObject>\n");
}

} // namespace

class TestArchitecture : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void thisTree() {
    const auto violations = checkTree(MILLRACE_SOURCE_DIR);
    QVERIFY2(violations.empty(), ("\n" + describe(violations)).c_str());
  }

  void cleanTree() {
    QTemporaryDir folder;
    writeCleanTree(folder.path().toStdString());
    const auto violations = checkTree(folder.path().toStdString());
    QVERIFY2(violations.empty(), describe(violations).c_str());
  }

  void violation_data() {
    QTest::addColumn<QString>("file");
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("expected"); // the one violation, as describe() writes it, from the start
    const auto row = [](const char* name, const char* file, const char* text, const char* expected) {
      QTest::newRow(name) << file << text << expected;
    };
    row("upward", "engine/base/a.h", "\n#include \"tensor/tensor.h\"\n",
        "engine/base/a.h:2: includes tensor/tensor.h: base/ is");
    row("upward with blanks", "engine/ops/a.cpp", "  #  include  \"train/trainer.h\"\n",
        "engine/ops/a.cpp:1: includes train");
    row("upward in angles", "engine/ops/a.cpp", "#include <stream/x.h>\n",
        "engine/ops/a.cpp:1: includes stream/x.h: ops/ is");
    row("upward after a comment", "engine/ops/a.cpp", "/* a\nb */ #include \"run/run.h\"\n",
        "engine/ops/a.cpp:2: includes run");
    row("api from run", "engine/run/a.cpp", "#include \"api/x.h\"\n", "engine/run/a.cpp:1: includes api/x.h");
    row("project is narrow", "engine/project/a.h", "#include \"plan/plan.h\"\n",
        "engine/project/a.h:1: includes plan/plan.h: project/ must");
    row("public headers are values", "engine/include/engine/a.h", "#include \"run/run.h\"\n",
        "engine/include/engine/a.h:1: includes run");
    row("unknown folder", "engine/magic/a.h", "", "engine/magic/a.h: is in no folder");
    row("file at the top of engine", "engine/a.h", "", "engine/a.h: is in no folder");
    row("dots", "engine/train/a.h", "#include \"../app/cli/command.h\"\n",
        "engine/train/a.h:1: includes by a path with '..'");
    row("window in the engine", "engine/run/a.h", "#include \"ui/bridge/bridge.h\"\n",
        "engine/run/a.h:1: includes ui/bridge");
    row("Qt in the engine", "engine/data/a.h", "#include <QString>\n", "engine/data/a.h:1: includes <QString>");
    row("Qt module in the engine", "engine/data/a.h", "#include <QtCore/QString>\n",
        "engine/data/a.h:1: includes <QtCore");
    row("Qt in the headless program", "app/cli/a.cpp", "#include <QCoreApplication>\n",
        "app/cli/a.cpp:1: includes <QCore");
    row("CUDA header", "engine/device/device.h", "#include <cuda_runtime.h>\n",
        "engine/device/device.h:1: includes cuda_runtime.h");
    row("cuBLAS header", "engine/ops/a.cpp", "#include <cublasLt.h>\n", "engine/ops/a.cpp:1: includes cublasLt.h");
    row("CUDA source elsewhere", "engine/optim/a.cu", "", "engine/optim/a.cu: is a CUDA source outside");
    row("kernel beside ops", "engine/device/cuda/a.cu", "__global__ void k();\n",
        "engine/device/cuda/a.cu:1: defines a kernel");
    row("NVML header", "engine/device/cuda/a.cpp", "#include <nvml.h>\n",
        "engine/device/cuda/a.cpp:1: includes nvml.h");
    row("NVML library", "engine/plan/a.cpp", "auto n = \"libnvidia-ml.so.1\";\n", "engine/plan/a.cpp: loads NVML");
    row("vector code", "engine/optim/a.cpp", "#include <immintrin.h>\n", "engine/optim/a.cpp:1: includes immintrin.h");
    row("oneDNN", "engine/ops/a.cpp", "#include <oneapi/dnnl/dnnl.hpp>\n", "engine/ops/a.cpp:1: includes oneapi/dnnl");
    row("cout", "engine/data/a.cpp", "\n\nstd::cout << 1;\n", "engine/data/a.cpp:3: uses std::cout");
    row("cerr", "engine/data/a.cpp", "std :: cerr << 1;\n", "engine/data/a.cpp:1: uses std :: cerr");
    row("fmt::print", "engine/data/a.cpp", "fmt::print(\"x\");\n", "engine/data/a.cpp:1: uses fmt::print");
    row("printf", "engine/data/a.cpp", "printf(\"x\");\n", "engine/data/a.cpp:1: calls printf()");
    row("fprintf", "engine/data/a.cpp", "  std::fprintf(stderr, \"x\");\n", "engine/data/a.cpp:1: calls fprintf()");
    row("exit", "engine/data/a.cpp", "if (bad) exit(1);\n", "engine/data/a.cpp:1: calls exit()");
    row("std::exit", "engine/data/a.cpp", "std::exit (1);\n", "engine/data/a.cpp:1: calls exit()");
    row("global exit", "engine/data/a.cpp", "::_exit(1);\n", "engine/data/a.cpp:1: calls _exit()");
    row("abort", "engine/data/a.h", "inline void f() { std::abort(); }\n", "engine/data/a.h:1: calls abort()");
    row("terminate", "engine/data/a.h", "std::terminate();\n", "engine/data/a.h:1: calls terminate()");
    row("program into the engine", "app/cli/a.cpp", "#include \"base/result.h\"\n",
        "app/cli/a.cpp:1: includes base/result.h");
    row("program into the engine, angles", "app/cli/a.cpp", "#include <base/result.h>\n",
        "app/cli/a.cpp:1: includes base/");
    row("program by dots", "app/cli/a.cpp", "#include \"../../engine/base/result.h\"\n",
        "app/cli/a.cpp:1: includes ../../engine");
    row("page into the shell", "ui/train/a.cpp", "#include \"shell/window.h\"\n",
        "ui/train/a.cpp:1: includes shell/window.h: ui/train/ is not above ui/shell/");
    row("bridge into the shell", "ui/bridge/a.cpp", "#include \"shell/window.h\"\n",
        "ui/bridge/a.cpp:1: includes shell/window.h: ui/bridge/ is not above ui/shell/");
    row("thread in a page", "ui/train/a.cpp", "#include <thread>\n",
        "ui/train/a.cpp:1: includes <thread>: threads are ui/bridge's");
    row("unknown folder of the window", "ui/misc/a.cpp", "\n", "ui/misc/a.cpp: is in no folder that ui/ has");
    row("window into the engine", "ui/train/a.cpp", "#include \"train/trainer.h\"\n",
        "ui/train/a.cpp:1: includes train/trainer.h");
    row("headless program into the window", "app/cli/a.cpp", "#include \"bridge/bridge.h\"\n",
        "app/cli/a.cpp:1: includes bridge");
    row("extra entry", "notes.md", "", "notes.md: is not an entry");
    row("extra folder", "scripts/a.sh", "", "scripts: is not an entry");
    QTest::newRow("place") << "packaging/a" << QString("x\ncd /%1/main\n").arg("work")
                           << QString("packaging/a:2: mentions");
    QTest::newRow("place in a comment") << "engine/base/b.h" << QString("// see /%1/x\n").arg("work")
                                        << "engine/base/b.h:1: mentions";
  }
  void violation() {
    QFETCH(QString, file);
    QFETCH(QString, text);
    QFETCH(QString, expected);
    QTemporaryDir folder;
    const fs::path root = folder.path().toStdString();
    writeCleanTree(root);
    write(root / file.toStdString(), text.toStdString());
    const auto violations = checkTree(root);
    const QString described = QString::fromStdString(describe(violations));
    QVERIFY2(violations.size() == 1, qPrintable("found: " + described));
    QVERIFY2(described.startsWith(expected), qPrintable(described));
  }

  void missingEntry() {
    QTemporaryDir folder;
    const fs::path root = folder.path().toStdString();
    writeCleanTree(root);
    fs::remove(root / "LICENSE");
    const auto violations = checkTree(root);
    QCOMPARE(violations.size(), std::size_t{1});
    QCOMPARE(violations[0].file, std::string("LICENSE"));
  }

  void circleInOneLevel() {
    QTemporaryDir folder;
    const fs::path root = folder.path().toStdString();
    writeCleanTree(root);
    write(root / "engine/text/a.h", "#include \"data/a.h\"\n");
    QVERIFY(checkTree(root).empty());
    write(root / "engine/data/a.h", "#include \"text/a.h\"\n");
    const auto violations = checkTree(root);
    QVERIFY(!violations.empty());
    QVERIFY2(describe(violations).find("circle: data/ depends on text/") != std::string::npos,
             describe(violations).c_str());
  }

  void sourceText_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("code");
    QTest::newRow("line comment") << "a; // b\nc;"
                                  << "a;     \nc;";
    QTest::newRow("block comment") << "a /* b\nc */ d"
                                   << "a     \n     d";
    QTest::newRow("string") << "f(\"a // b\"); // c"
                            << "f(\"      \");     ";
    QTest::newRow("escaped quote") << "f(\"a\\\"b\"); g();"
                                   << "f(\"    \"); g();";
    QTest::newRow("character") << "'\"' + a + '\\''"
                               << "' ' + a + '  '";
    QTest::newRow("digits") << "1'000 + f(0xA'B) // x"
                            << "1'000 + f(0xA'B)     ";
    QTest::newRow("raw string") << "R\"x(a\" )\" )x\" b"
                                << "R             b";
    QTest::newRow("unterminated") << "f(\"a\nb"
                                  << "f(\" \nb";
  }
  void sourceText() {
    QFETCH(QString, text);
    QTEST(QString::fromStdString(readSourceText(text.toStdString()).codeOnly), "code");
  }
};

QTEST_GUILESS_MAIN(TestArchitecture)
#include "test_architecture.moc"
