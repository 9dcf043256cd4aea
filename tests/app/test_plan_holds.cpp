// What a plan says of bytes is what the run takes: engine memory and checkpoint to the byte, the process as a whole at
// most what was planned and no less than 95% of it.
#include "app/run_files.h"

#include <QFileInfo>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace millrace::test;

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true; // which takes memory of its own
#else
constexpr bool sanitized = false;
#endif

struct Finished {
  int code = -1;
  qint64 peak = 0; ///< resident bytes
};

/// The program as a child of which the kernel counts the memory; its output is dropped.
Finished runCounted(const QStringList& arguments) {
  std::vector<QByteArray> words{MILLRACE_PROGRAM};
  for (const QString& argument : arguments) words.push_back(argument.toUtf8());
  std::vector<char*> pointers;
  for (QByteArray& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    const int nothing = ::open("/dev/null", O_WRONLY);
    ::dup2(nothing, STDOUT_FILENO);
    ::execv(pointers[0], pointers.data());
    ::_exit(127);
  }
  int status = 0;
  rusage usage = {};
  if (child < 0 || ::wait4(child, &status, 0, &usage) != child || !WIFEXITED(status)) return {};
  return {WEXITSTATUS(status), qint64(usage.ru_maxrss) * 1024};
}

/// Of the planes alone: a safetensors file is a length, a header of that length, and the data.
qint64 tensorBytes(const QString& checkpoint) {
  qint64 sum = 0;
  for (const QFileInfo& entry : QDir(checkpoint).entryInfoList({"*.safetensors"}, QDir::Files)) {
    QFile file(entry.filePath());
    quint64 header = 0;
    if (!file.open(QIODevice::ReadOnly) || file.read(reinterpret_cast<char*>(&header), 8) != 8) return -1;
    sum += entry.size() - 8 - qint64(header);
  }
  return sum;
}

qint64 engineBytes(const QJsonObject& plan, const char* tier) {
  const QJsonObject planned = plan["tiers"][tier].toObject();
  return planned["bytes"].toInteger() - planned["categories"]["program"].toInteger();
}

} // namespace

class TestPlanHolds : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() {
    m_folder = std::make_unique<QTemporaryDir>();
    m_project = writeTinyProject(m_folder->path(), "goose", 3);
  }

  void bytes_data() {
    QTest::addColumn<QStringList>("settings");
    const QString wide = R"(model.config={"model_type": "llama", "vocab_size": 2048, "hidden_size": 320,
      "intermediate_size": 864, "num_hidden_layers": 8, "num_attention_heads": 5, "max_position_embeddings": 512})";
    const QStringList large{wide, "training.context=128", "training.micro_batch=4", "memory.vram_limit=0",
                            "memory.ram_limit=0"};
    QTest::newRow("the planner's choice") << large;
    QTest::newRow("streamed, groups of 1") << large + QStringList{"memory.placement=ram", "training.schedule_group=1"};
    QTest::newRow("bf16, weights there") << large + QStringList{"training.precision=bf16", "memory.placement=weights",
                                                                "training.clip=exact-bf16"};
    QTest::newRow("capped, offloaded") << large + QStringList{"memory.vram_limit=60MiB", "memory.ram_limit=400MiB",
                                                              "training.offload_activations=on"};
  }
  void bytes() {
    QFETCH(QStringList, settings);
    settings.prepend("--set"); // with nothing else behind it, all are settings
    const Outcome planned = runProgram(QStringList{"plan", m_project, "--json"} + settings);
    QVERIFY2(planned.code == 0, planned.error.constData());
    const QJsonObject plan = planned.object();
    const QString run = m_folder->filePath("run");
    const Finished finished = runCounted(QStringList{"train", m_project, "--run-dir", run} + settings);
    QCOMPARE(finished.code, 0);

    const QList<QByteArray> lines = readFile(run + "/metrics.jsonl").trimmed().split('\n');
    const QJsonObject step = QJsonDocument::fromJson(lines.last()).object();
    QCOMPARE(step["peak"]["device"].toInteger(), engineBytes(plan, "vram"));
    QCOMPARE(step["peak"]["host"].toInteger(), engineBytes(plan, "ram"));
    QCOMPARE(step["peak"].toObject(), step["planned"].toObject());
    QCOMPARE(tensorBytes(newestCheckpoint(run)), plan["run"]["checkpoint_bytes"].toInteger());
    QVERIFY(step["predicted_seconds"].toDouble() > 0);

    const double process = plan["tiers"]["vram"]["bytes"].toDouble() + plan["tiers"]["ram"]["bytes"].toDouble();
    const double share = double(finished.peak) / process;
    if (sanitized) return;
    QVERIFY2(share <= 1, QByteArray::number(share).constData());
    QVERIFY2(share >= 0.95, QByteArray::number(share).constData());
  }

 private:
  std::unique_ptr<QTemporaryDir> m_folder;
  QString m_project;
};

QTEST_GUILESS_MAIN(TestPlanHolds)
#include "test_plan_holds.moc"
