// Whole runs on a GPU: what a user's `train` does, with everything streamed and with everything on the card, equal in
// bits. Needs MILLRACE_TEST_DEVICE=cuda:N; without it the tests say so and skip.
#include "engine/run.h"

#include "base/json_reader.h"
#include "checkpoint/checkpoint_reader.h"
#include "device/device.h"
#include "device/kernels.h"
#include "project/project_file.h"

#include <QTemporaryDir>
#include <QtTest>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

using namespace millrace;

class TestGpuRun : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void initTestCase() {
    const char* name = std::getenv("MILLRACE_TEST_DEVICE");
    if (!name || std::string(name) == "cpu") QSKIP("MILLRACE_TEST_DEVICE names no GPU");
    m_device = name;
    std::ofstream text(folder() / "geese.txt");
    for (int i = 0; i < 400; ++i) text << "The goose of day " << i << " walked to the river.\n%\n";
  }

  void placementsAgree_data() {
    QTest::addColumn<QString>("precision");
    QTest::newRow("fp32") << "fp32";
    QTest::newRow("bf16") << "bf16";
  }
  void placementsAgree() {
    QFETCH(QString, precision);
    if (m_device.empty()) QSKIP("MILLRACE_TEST_DEVICE names no GPU");
    const std::vector<std::string> streamed = train(precision.toStdString(), "ram");
    QCOMPARE(streamed.size(), std::size_t{6});
    for (const char* placement : {"weights", "vram", "auto"})
      QVERIFY2(train(precision.toStdString(), placement) == streamed, placement);
  }

  /// What a kernel that goes wrong leaves behind: the context is lost, to this program for good, so this comes last.
  /// The run ends by itself and says why, and its last checkpoint is whole.
  void aFaultOfTheGpuEndsTheRun() {
    if (m_device.empty()) QSKIP("MILLRACE_TEST_DEVICE names no GPU");
    RunOptions options;
    options.directory = folder() / "faulty";
    LocalFileSystem files;
    const std::unique_ptr<Run> run = valueOrThrow(Run::start(files, project("bf16", "ram", 1'000'000), options));
    const Path first = options.directory / "checkpoints/step-00000002/manifest.json";
    QTRY_VERIFY_WITH_TIMEOUT(std::filesystem::exists(first), 60'000);
    {
      ThreadPool pool(1);
      const std::unique_ptr<Device> device = valueOrThrow(openDevice(m_device, pool, MiB, MiB));
      const std::unique_ptr<Stream> stream = device->createStream("fault");
      const TensorView nowhere(reinterpret_cast<std::byte*>(std::uintptr_t{1} << 60), DType::F32, Shape{1 << 20});
      device->kernels().convert(*stream, {nowhere, nowhere});
      QVERIFY_THROWS_EXCEPTION(EngineException, stream->synchronize());
    }
    const RunOutcomeReport report = run->wait();
    QVERIFY(report.state == RunState::Failed);
    QVERIFY(report.error && report.error->message.find("the GPU failed at") != std::string::npos);
    const std::vector<std::string> saved = valueOrThrow(files.list(options.directory / "checkpoints"));
    const auto newest =
        std::find_if(saved.rbegin(), saved.rend(), [](const std::string& entry) { return entry.starts_with("step-"); });
    QVERIFY(newest != saved.rend());
    const auto whole = verifyCheckpoint(files, options.directory / "checkpoints" / *newest);
    QVERIFY2(whole.has_value(), whole ? "" : whole.error().message.c_str());
  }

 private:
  Path folder() const { return m_folder.path().toStdString(); }

  Project project(const std::string& precision, const std::string& placement, std::int64_t steps) const {
    const Json config{{"model_type", "llama"},    {"vocab_size", 300},           {"hidden_size", 128},
                      {"intermediate_size", 256}, {"num_hidden_layers", 4},      {"num_attention_heads", 2},
                      {"num_key_value_heads", 1}, {"tie_word_embeddings", false}};
    const Json json{
        {"format", 1},
        {"name", "goose"},
        {"model", {{"config", config}}},
        {"tokenizer", {{"train", {{"vocabulary", 300}}}}},
        {"data", {{"sources", {{"path", "geese.txt"}, {"separator", "%"}}}, {"cache", "cache"}}},
        {"training",
         {{"steps", steps},
          {"context", 64},
          {"micro_batch", 4},
          {"micro_batches", 2},
          {"precision", precision},
          {"device", m_device}}},
        {"memory", {{"placement", placement}}},
        {"checkpoint", {{"every", 2}}},
        {"samples", {{"prompts", {"The"}}, {"tokens", 4}}},
    };
    return valueOrThrow(projectFromJson(json, "goose.json", folder()));
  }

  /// Loss and norm of each step, and what the run's log and metrics say of where it ran.
  std::vector<std::string> train(const std::string& precision, const std::string& placement) {
    RunOptions options;
    options.directory = folder() / (precision + "-" + placement);
    LocalFileSystem files;
    const std::unique_ptr<Run> run = valueOrThrow(Run::start(files, project(precision, placement, 6), options));
    const RunOutcomeReport report = run->wait();
    if (report.state != RunState::Finished) {
      qWarning("%s", report.error ? report.error->message.c_str() : "not finished");
      return {};
    }
    std::vector<std::string> steps;
    std::ifstream metrics(options.directory / "metrics.jsonl");
    for (std::string line; std::getline(metrics, line);) {
      const Json step = Json::parse(line);
      steps.push_back(step.at("loss").dump() + " " + step.at("grad_norm").dump());
      if (step.at("peak") != step.at("planned")) steps.back() += ": memory is not as planned";
    }
    std::ifstream log(options.directory / "log.txt");
    const std::string text((std::istreambuf_iterator<char>(log)), std::istreambuf_iterator<char>());
    if (text.find(m_device) == std::string::npos) return {};
    return steps;
  }

  QTemporaryDir m_folder;
  std::string m_device;
};

QTEST_GUILESS_MAIN(TestGpuRun)
#include "test_gpu_run.moc"
