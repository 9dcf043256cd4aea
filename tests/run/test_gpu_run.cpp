// Whole runs on a GPU: what a user's `train` does, with everything streamed and with everything on the card, equal in
// bits. Needs MILLRACE_TEST_DEVICE=cuda:N; without it the tests say so and skip.
#include "engine/run.h"

#include "base/json_reader.h"
#include "project/project_file.h"

#include <QTemporaryDir>
#include <QtTest>
#include <cstdlib>
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

 private:
  Path folder() const { return m_folder.path().toStdString(); }

  /// Loss and norm of each step, and what the run's log and metrics say of where it ran.
  std::vector<std::string> train(const std::string& precision, const std::string& placement) {
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
         {{"steps", 6},
          {"context", 64},
          {"micro_batch", 4},
          {"micro_batches", 2},
          {"precision", precision},
          {"device", m_device}}},
        {"memory", {{"placement", placement}}},
        {"samples", {{"prompts", {"The"}}, {"tokens", 4}}},
    };
    const Project project = valueOrThrow(projectFromJson(json, "goose.json", folder()));
    RunOptions options;
    options.directory = folder() / (precision + "-" + placement);
    LocalFileSystem files;
    const std::unique_ptr<Run> run = valueOrThrow(Run::start(files, project, options));
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
