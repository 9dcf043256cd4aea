// Evaluation through the facade: the loss of every target of a text, by hand and by the engine; what text is evaluated;
// refusals.
#include "engine/evaluate.h"
#include "support/model_folder.h"

#include "data/dataset.h"
#include "plan/planner.h"
#include "project/project_file.h"
#include "storage/model_reader.h"
#include "train/forward_runner.h"
#include "train/load_weights.h"

#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <numbers>

using namespace millrace;
using namespace millrace::test;

namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

} // namespace

class TestEvaluate : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void initTestCase();
  void everyTarget_data();
  void everyTarget();
  void limitsAndBatchesChangeLittle();
  void heldBackDocuments();
  void rowsAtMost();
  void wholeText();
  void wholeTextAsTransformers();
  void givenUp();
  void refused();

 private:
  Path at(const std::string& name) const { return Path(m_folder.path().toStdString()) / name; }
  EvaluationTexts texts() const { return {{{{at("text.txt")}, DataFormat::Text, "text", "%"}}}; }
  Project project(double validationFraction) const;

  LocalFileSystem m_files;
  QTemporaryDir m_folder;
  std::vector<std::string> m_documents;
};

void TestEvaluate::initTestCase() {
  qputenv("XDG_CACHE_HOME", at("cache").string().c_str());
  for (const char* family : {"llama", "gpt2"}) writeModelFolder(m_files, at(family), smallConfig(family));
  std::string text;
  for (int i = 0; i < 40; ++i) {
    m_documents.push_back(
        fmt::format("Document {}: {}", i, std::string(sampleText()).substr(0, static_cast<std::size_t>(20 + i))));
    text += m_documents.back() + "\n%\n";
  }
  QVERIFY(writeTextFile(m_files, at("text.txt"), text).has_value());
}

Project TestEvaluate::project(double validationFraction) const {
  Project project;
  project.name = "evaluated";
  project.model = ModelConfig{{}, smallConfig("llama").dump()};
  project.tokenizer = TokenizerFile{at("llama") / "tokenizer.json"};
  project.data.sources = texts().sources;
  project.data.validationFraction = validationFraction;
  project.data.cache = at("cache");
  project.training.context = 40;
  project.training.length = {LengthUnit::Steps, 10};
  project.training.warmupSteps = 2;
  return project;
}

void TestEvaluate::everyTarget_data() {
  QTest::addColumn<QString>("family");
  QTest::newRow("llama") << "llama";
  QTest::newRow("gpt2") << "gpt2";
}

/// One document a row here, so that the loss of a document is that of a forward over it.
void TestEvaluate::everyTarget() {
  QFETCH(QString, family);
  const Path folder = at(family.toStdString());
  const ModelSpec spec = valueOrThrow(readModelConfig(m_files, folder));
  const ModelReader reader = valueOrThrow(ModelReader::open(m_files, folder, spec));
  const Tokenizer tokenizer = valueOrThrow(Tokenizer::load(m_files, folder / "tokenizer.json"));
  PlanRequest request;
  request.shape.context = 96;
  request.shape.headChunk = 32;
  request.shape.training = false;
  request.deviceLimit = request.hostLimit = GiB;
  ThreadPool pool(2);
  const auto device = createCpuDevice(pool, GiB, GiB);
  const auto runner = valueOrThrow(ForwardRunner::create(*device, pool, spec, valueOrThrow(planMemory(spec, request))));
  valueOrThrow(loadWeights(runner->store(), *runner->streams().copyIn,
                           [&](const BlockSpec& block, std::int64_t first, std::span<float> values) {
                             return reader.readBlock(block, first, values);
                           }));

  std::string text = "The mill stands by the race, and 水車 turns";
  QVERIFY(writeTextFile(m_files, at("one.txt"), text).has_value());
  std::vector<std::int32_t> tokens = valueOrThrow(tokenizer.encode(text, false));
  tokens.push_back(*tokenizer.endOfText());
  const auto length = static_cast<std::int64_t>(tokens.size());
  double sum = 0;
  std::int64_t bytes = 0;
  for (std::int64_t t = 0; t + 1 < length; ++t) {
    const std::vector<float> logits = runner->nextLogits(std::span(tokens).first(static_cast<std::size_t>(t + 1)));
    double total = 0;
    for (const float logit : logits) total += std::exp(static_cast<double>(logit));
    const std::int32_t target = tokens[static_cast<std::size_t>(t + 1)];
    sum += std::log(total) - static_cast<double>(logits[static_cast<std::size_t>(target)]);
    bytes += tokenizer.tokenBytes(target);
  }
  QVERIFY(bytes > 20);

  EvaluateOptions options;
  options.context = length;
  const auto report =
      evaluateModel(m_files, {folder, {}}, EvaluationTexts{{{{at("one.txt")}, DataFormat::Text, "text", ""}}}, options);
  QVERIFY2(report.has_value(), report ? "" : report.error().message.c_str());
  QCOMPARE(report->targets, length - 1);
  QCOMPARE(report->rows, std::int64_t{1});
  QCOMPARE(report->context, length);
  const double loss = sum / static_cast<double>(length - 1);
  QVERIFY2(std::abs(report->loss - loss) < 1e-5 * loss, fmt::format("{} and {}", report->loss, loss).c_str());
  QVERIFY(std::abs(report->perplexity - std::exp(report->loss)) < 1e-9 * report->perplexity);
  const double bits = report->loss * static_cast<double>(report->targets) / std::numbers::ln2;
  QVERIFY(std::abs(report->bitsPerByte - bits / static_cast<double>(bytes)) < 1e-9 * bits);
}

void TestEvaluate::limitsAndBatchesChangeLittle() {
  EvaluateOptions options;
  options.context = 32;
  const auto reference = evaluateModel(m_files, {at("llama"), {}}, texts(), options);
  QVERIFY2(reference.has_value(), reference ? "" : reference.error().message.c_str());
  QVERIFY(reference->targets > 500 && reference->rows > 10);
  for (const std::int64_t rows : {1, 3, 7}) {
    options.batchRows = rows;
    const auto report = evaluateModel(m_files, {at("llama"), {}}, texts(), options);
    QVERIFY(report.has_value());
    QCOMPARE(report->targets, reference->targets);
    QVERIFY(std::abs(report->loss / reference->loss - 1) < 1e-6);
  }
  // The smallest device limit gives the same bits.
  options.compute.deviceLimit = 1;
  const auto refusal = evaluateModel(m_files, {at("llama"), {}}, texts(), options);
  QVERIFY(!refusal.has_value());
  QCOMPARE(refusal.error().kind, ErrorKind::DoesNotFit);
  options.compute.deviceLimit = std::stoll(refusal.error().message.substr(refusal.error().message.find('(') + 1));
  const auto streamed = evaluateModel(m_files, {at("llama"), {}}, texts(), options);
  options.compute.deviceLimit = 0;
  const auto resident = evaluateModel(m_files, {at("llama"), {}}, texts(), options);
  QVERIFY(streamed && resident);
  QCOMPARE(streamed->loss, resident->loss);
  options.compute.precision = Precision::Bf16;
  const auto narrow = evaluateModel(m_files, {at("llama"), {}}, texts(), options);
  QVERIFY(narrow.has_value());
  QVERIFY(narrow->loss != resident->loss && std::abs(narrow->loss / resident->loss - 1) < 0.02);
}

/// Of a project, of the run that a model comes from, and of the run that a checkpoint lies in.
void TestEvaluate::heldBackDocuments() {
  const auto all = evaluateModel(m_files, {at("llama"), {}}, texts());
  const auto part = evaluateModel(m_files, {at("llama"), {}}, ProjectValidation{project(0.3)});
  QVERIFY2(all && part, part ? "" : part.error().message.c_str());
  QVERIFY(part->targets > 0 && part->targets < all->targets * 2 / 3);
  QCOMPARE(part->context, std::int64_t{40});
  QCOMPARE(all->context, std::int64_t{96});

  const Path run = at("run");
  QVERIFY(m_files.createDirectories(run).has_value());
  QVERIFY(writeRunFile(m_files, RunDirectory(run), {{"project", projectToJson(project(0.3))}}).has_value());
  saveCheckpoint(m_files, run, 5, smallConfig("llama"));
  for (const Path& path : {run, run / "checkpoints" / "step-00000005"}) {
    const auto report = evaluateModel(m_files, {path, {}}, RunValidation{});
    QVERIFY2(report.has_value(), report ? "" : report.error().message.c_str());
    QCOMPARE(report->targets, part->targets);
    QCOMPARE(report->step.value_or(0), std::int64_t{5});
    QVERIFY(report->loss != part->loss); // other weights
  }
  const auto none = evaluateModel(m_files, {at("llama"), {}}, RunValidation{});
  QVERIFY(!none.has_value());
  QVERIFY(contains(none.error().message, "no run"));
  const auto nothing = evaluateModel(m_files, {at("llama"), {}}, ProjectValidation{project(0)});
  QVERIFY(!nothing.has_value());
  QCOMPARE(nothing.error().kind, ErrorKind::BadInput);
}

void TestEvaluate::rowsAtMost() {
  EvaluateOptions options;
  options.context = 20;
  options.rows = 7;
  options.batchRows = 3;
  std::vector<std::int64_t> told;
  options.progress = [&](std::int64_t done, std::int64_t rows) {
    if (rows > 0) told.push_back(done);
    return true;
  };
  const auto report = evaluateModel(m_files, {at("llama"), {}}, texts(), options);
  QVERIFY(report.has_value());
  QCOMPARE(report->rows, std::int64_t{7});
  QVERIFY(report->targets > 50 && report->targets <= 140);
  QVERIFY((told == std::vector<std::int64_t>{0, 3, 6}));
}

void TestEvaluate::wholeText() {
  const std::string text = " \n = Mill = \n\n The  race\u00a0turns the wheel . \n";
  QVERIFY(writeTextFile(m_files, at("wiki.raw"), text).has_value());
  EvaluateOptions options;
  options.context = 12;
  const auto report = evaluateModel(m_files, {at("llama"), {}}, SlidingText{at("wiki.raw"), 0}, options);
  QVERIFY2(report.has_value(), report ? "" : report.error().message.c_str());
  const WholeTextReport& whole = *report->wholeText;
  QCOMPARE(whole.stride, std::int64_t{6});
  QCOMPARE(whole.words, std::int64_t{9});
  QCOMPARE(whole.bytes, static_cast<std::int64_t>(text.size()));
  QCOMPARE(report->targets, whole.tokens - 1);
  const double sum = report->loss * static_cast<double>(report->targets);
  const auto near = [](double a, double b) { return std::abs(a - b) < 1e-9 * b; };
  QVERIFY(near(report->perplexity, std::exp(report->loss)));
  QVERIFY(near(whole.wordPerplexity, std::exp(sum / 9)));
  QVERIFY(near(report->bitsPerByte, sum / std::numbers::ln2 / static_cast<double>(text.size())));
  // A document that fits the context is one window; its loss is that of the document as data.
  options.context = 96;
  const auto window = evaluateModel(m_files, {at("llama"), {}}, SlidingText{at("wiki.raw"), 96}, options);
  QVERIFY(window && window->rows == 1 && window->targets == report->targets);

  const auto messageOf = [&](const SlidingText& source, const EvaluateOptions& how) {
    const auto refused = evaluateModel(m_files, {at("llama"), {}}, source, how);
    return refused || refused.error().kind != ErrorKind::BadInput ? std::string() : refused.error().message;
  };
  options.context = 12;
  QVERIFY(contains(messageOf({at("wiki.raw"), 13}, options), "stride is 13"));
  options.rows = 3;
  QVERIFY(contains(messageOf({at("wiki.raw"), 4}, options), "rows"));
  options.rows = 0;
  QVERIFY(writeTextFile(m_files, at("blank.raw"), " \n\n").has_value());
  QVERIFY(contains(messageOf({at("blank.raw"), 4}, options), "no word"));
  QVERIFY(contains(messageOf({at("missing.raw"), 4}, options), "missing.raw"));
}

void TestEvaluate::wholeTextAsTransformers() {
  const QString python = qEnvironmentVariable("MILLRACE_ORACLE_PYTHON");
  if (python.isEmpty())
    QSKIP("MILLRACE_ORACLE_PYTHON does not name a Python with torch and transformers to compare with");
  std::string text;
  for (int i = 0; i < 8; ++i) text += std::string(sampleText()) + fmt::format(" \n = part {} = \n", i);
  QVERIFY(writeTextFile(m_files, at("long.raw"), text).has_value());
  QProcess process;
  process.start(python, {MILLRACE_SOURCE_DIR "/tests/support/sliding_perplexity.py",
                         QString::fromStdString(at("llama").string()), "48", "20",
                         QString::fromStdString(at("long.raw").string())});
  QVERIFY(process.waitForFinished(200000) && process.exitCode() == 0);
  const QJsonObject expected = QJsonDocument::fromJson(process.readAllStandardOutput().trimmed()).object();
  EvaluateOptions options;
  options.context = 48;
  const auto report = evaluateModel(m_files, {at("llama"), {}}, SlidingText{at("long.raw"), 20}, options);
  QVERIFY2(report.has_value(), report ? "" : report.error().message.c_str());
  QCOMPARE(report->targets, expected["targets"].toInteger());
  QCOMPARE(report->wholeText->tokens, expected["tokens"].toInteger());
  QCOMPARE(report->wholeText->words, expected["words"].toInteger());
  const auto near = [&](double ours, const char* key) {
    const double theirs = expected[QLatin1String(key)].toDouble();
    return std::abs(ours - theirs) < 2e-5 * theirs;
  };
  QVERIFY(near(report->loss * static_cast<double>(report->targets), "sum"));
  QVERIFY(near(report->perplexity, "perplexity") && near(report->bitsPerByte, "bits_per_byte"));
  QVERIFY(std::abs(std::log(report->wholeText->wordPerplexity) / std::log(expected["word_perplexity"].toDouble()) - 1) <
          2e-5);
}

void TestEvaluate::givenUp() {
  EvaluateOptions options;
  options.context = 20;
  options.batchRows = 1;
  options.progress = [&](std::int64_t done, std::int64_t) { return done < 3; };
  const auto report = evaluateModel(m_files, {at("llama"), {}}, texts(), options);
  QVERIFY(!report.has_value());
  QCOMPARE(report.error().kind, ErrorKind::Interrupted);
}

void TestEvaluate::refused() {
  const auto messageOf = [&](const EvaluationData& data, const EvaluateOptions& options) -> std::string {
    const auto report = evaluateModel(m_files, {at("llama"), {}}, data, options);
    return report || report.error().kind != ErrorKind::BadInput ? "" : report.error().message;
  };
  EvaluateOptions options;
  options.context = 97;
  QVERIFY(contains(messageOf(texts(), options), "96"));
  options.context = -1;
  QVERIFY(contains(messageOf(texts(), options), "context"));
  options = {};
  options.rows = -1;
  QVERIFY(contains(messageOf(texts(), options), "rows"));
  const EvaluationTexts missing{{{{at("missing.txt")}, DataFormat::Text, "text", ""}}};
  QVERIFY(contains(messageOf(missing, {}), "missing.txt"));
  QVERIFY(writeTextFile(m_files, at("empty.txt"), "").has_value());
  QVERIFY(!messageOf(EvaluationTexts{{{{at("empty.txt")}, DataFormat::Text, "text", ""}}}, {}).empty());
  QVERIFY(!evaluateModel(m_files, {at("nowhere"), {}}, texts()).has_value());
}

QTEST_GUILESS_MAIN(TestEvaluate)
#include "test_evaluate.moc"
