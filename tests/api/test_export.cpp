// Export: the same numbers in another folder, complete or not at all, and as transformers expects them.
#include "engine/export.h"
#include "engine/generate.h"
#include "support/faulty_file_system.h"
#include "support/memory_file_system.h"
#include "support/model_folder.h"

#include "base/bf16.h"
#include "plan/planner.h"
#include "storage/float_conversion.h"
#include "storage/model_reader.h"
#include "text/tokenizer.h"
#include "train/forward_runner.h"
#include "train/load_weights.h"

#include <QProcess>
#include <QTemporaryDir>
#include <QTest>
#include <bit>
#include <cmath>
#include <filesystem>
#include <fmt/ranges.h>

using namespace millrace;
using namespace millrace::test;

namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Bits of all parameters of a model folder.
std::vector<std::uint32_t> bitsOf(FileSystem& files, const Path& folder) {
  const ModelSpec spec = valueOrThrow(readModelConfig(files, folder));
  const ModelReader reader = valueOrThrow(ModelReader::open(files, folder, spec));
  std::vector<std::uint32_t> bits;
  for (const BlockSpec& block : blocksOf(spec))
    for (const ParameterSpec& parameter : block.parameters) {
      std::vector<float> values(static_cast<std::size_t>(parameter.elements()));
      valueOrThrow(reader.read(parameter, 0, values));
      for (const float value : values) bits.push_back(std::bit_cast<std::uint32_t>(value));
    }
  return bits;
}

/// Logits (T, V) of the tokens.
std::vector<float> logitsOf(FileSystem& files, const Path& folder, const std::vector<std::int32_t>& tokens) {
  const ModelSpec spec = valueOrThrow(readModelConfig(files, folder));
  const ModelReader reader = valueOrThrow(ModelReader::open(files, folder, spec));
  PlanRequest request;
  request.shape.context = static_cast<std::int64_t>(tokens.size());
  request.shape.headChunk = 8;
  request.shape.training = false;
  request.deviceLimit = request.hostLimit = GiB;
  ThreadPool pool(2);
  const auto device = createCpuDevice(pool, GiB, GiB);
  const auto runner = valueOrThrow(ForwardRunner::create(*device, pool, spec, valueOrThrow(planMemory(spec, request))));
  valueOrThrow(loadWeights(runner->store(), *runner->streams().copyIn,
                           [&](const BlockSpec& block, std::int64_t first, std::span<float> values) {
                             return reader.readBlock(block, first, values);
                           }));
  MicroBatch batch;
  batch.rows = 1;
  batch.context = request.shape.context;
  batch.tokens = tokens;
  batch.targets.assign(tokens.size(), -1);
  batch.documentStart.assign(tokens.size(), 0);
  for (std::int32_t t = 0; t < batch.context; ++t) batch.positions.push_back(t);
  return runner->allLogits(batch);
}

} // namespace

class TestExport : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void checkpoint_data();
  void checkpoint();
  void narrow();
  void halves();
  void halvesThatOverflow();
  void sameBytes_data();
  void sameBytes();
  void shards();
  void run();
  void tied();
  void controlTokens();
  void companions();
  void companionsOfACheckpoint();
  void steps();
  void aRunThatRemovesItsCheckpoints();
  void generatesTheSame();
  void targets();
  void givenUp();
  void everyFaultLeavesNothing();
  void transformersAgrees_data();
  void transformersAgrees();

 private:
  Path at(const std::string& name) const { return Path(m_folder.path().toStdString()) / name; }
  LocalFileSystem m_files;
  QTemporaryDir m_folder;
};

void TestExport::checkpoint_data() {
  QTest::addColumn<QString>("family");
  for (const char* family :
       {"llama", "qwen2", "qwen3", "mistral", "gpt2", "phi3", "olmo2", "gemma2", "mixtral", "qwen3_moe"})
    QTest::newRow(family) << QString(family);
}

void TestExport::checkpoint() {
  QFETCH(QString, family);
  const std::string name = family.toStdString();
  const ModelSpec spec = saveCheckpoint(m_files, at(name), 7, smallConfig(name));
  writeModelFolder(m_files, at(name + " expected"), smallConfig(name), smallTokenizer(), weightSeed + 7);
  const auto exported = exportModel(m_files, {at(name) / "checkpoints" / "step-00000007", {}}, at(name + " exported"));
  QVERIFY2(exported.has_value(), exported ? "" : exported.error().message.c_str());
  QCOMPARE(exported->parameters, parameterCount(spec));
  QCOMPARE(exported->step.value_or(0), std::int64_t{7});
  QVERIFY(bitsOf(m_files, exported->folder) == bitsOf(m_files, at(name + " expected")));
  Bytes bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(exported->folder))
    bytes += static_cast<Bytes>(entry.file_size());
  QCOMPARE(exported->bytes, bytes);
  QCOMPARE(exported->files.size(), std::size_t{4}); // config, tensors, tokenizer and its config
  ModelSpec read = valueOrThrow(readModelConfig(m_files, exported->folder));
  read.bosToken = spec.bosToken; // named as the tokenizer has them
  read.eosTokens = spec.eosTokens;
  QVERIFY(read == spec);
}

/// bf16 weights are those that training computes with, ties included.
void TestExport::narrow() {
  const Json config = smallConfig("llama");
  const ModelSpec spec = writeModelFolder(m_files, at("narrow source"), config);
  std::filesystem::remove(at("narrow source") / "model.safetensors");
  Random random(8);
  QVERIFY(writeModelTensors(m_files, at("narrow source"), spec, {},
                            [&](const ParameterSpec&, std::int64_t, std::span<float> values) -> Status {
                              constexpr std::uint32_t ends[] = {0x7FFF, 0x8000, 0x8001};
                              for (float& value : values) {
                                const auto drawn = static_cast<std::uint32_t>(random.next() >> 32);
                                const std::uint32_t end = drawn % 4 == 3 ? drawn >> 16 : ends[drawn % 4];
                                value = std::bit_cast<float>(static_cast<std::uint32_t>(
                                    (drawn & 0x80000000u) | (random.below(0x7F7F) << 16) | end));
                              }
                              return {};
                            })
              .has_value());
  ExportOptions options;
  options.type = ExportType::Bf16;
  const auto exported = exportModel(m_files, {at("narrow source"), {}}, at("narrow"), options);
  QVERIFY2(exported.has_value(), exported ? "" : exported.error().message.c_str());
  const std::vector<std::uint32_t> before = bitsOf(m_files, at("narrow source"));
  const std::vector<std::uint32_t> after = bitsOf(m_files, at("narrow"));
  QCOMPARE(after.size(), before.size());
  std::size_t ties = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const std::uint32_t expected = std::uint32_t{splitWeight(std::bit_cast<float>(before[i])).hi} << 16;
    QCOMPARE(after[i], expected);
    if ((before[i] & 0x1FFFFu) == 0x8000u) ++ties; // half way, where rounding to even would go down
  }
  QVERIFY(ties > 0);
  QVERIFY(contains(valueOrThrow(readTextFile(m_files, at("narrow") / "config.json")), "bfloat16"));
}

void TestExport::halves() {
  writeModelFolder(m_files, at("halves source"), smallConfig("qwen2"));
  ExportOptions options;
  options.type = ExportType::Fp16;
  const auto exported = exportModel(m_files, {at("halves source"), {}}, at("halves"), options);
  QVERIFY2(exported.has_value(), exported ? "" : exported.error().message.c_str());
  const std::vector<std::uint32_t> before = bitsOf(m_files, at("halves source"));
  const std::vector<std::uint32_t> after = bitsOf(m_files, at("halves"));
  QCOMPARE(after.size(), before.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    const float exact = std::bit_cast<float>(before[i]);
    QCOMPARE(after[i], std::bit_cast<std::uint32_t>(halfToFloat(floatToHalf(exact))));
  }
  QVERIFY(contains(valueOrThrow(readTextFile(m_files, at("halves") / "config.json")), "float16"));
  QVERIFY(exported->bytes < 2 * static_cast<Bytes>(before.size()) + 100'000);
}

void TestExport::halvesThatOverflow() {
  const ModelSpec spec = writeModelFolder(m_files, at("large source"), smallConfig("llama"));
  std::filesystem::remove(at("large source") / "model.safetensors");
  QVERIFY(writeModelTensors(m_files, at("large source"), spec, {},
                            [&](const ParameterSpec& parameter, std::int64_t, std::span<float> values) -> Status {
                              std::fill(values.begin(), values.end(), 65519.0f);
                              if (parameter.name == "model.norm.weight") values[5] = -65520.0f;
                              return {};
                            })
              .has_value());
  ExportOptions options;
  options.type = ExportType::Fp16;
  const auto exported = exportModel(m_files, {at("large source"), {}}, at("too large"), options);
  QVERIFY(!exported);
  QCOMPARE(exported.error().kind, ErrorKind::BadInput);
  QVERIFY2(contains(exported.error().message, "model.norm.weight has the weight -65520"),
           exported.error().message.c_str());
  QVERIFY(!m_files.exists(at("too large")));
}

void TestExport::sameBytes_data() {
  QTest::addColumn<QString>("family");
  QTest::addColumn<QString>("type");
  for (const char* family :
       {"llama", "qwen2", "qwen3", "mistral", "gpt2", "phi3", "olmo2", "gemma2", "mixtral", "qwen3_moe"})
    for (const char* type : {"F32", "BF16", "F16"}) QTest::addRow("%s %s", family, type) << family << type;
}

/// A model in the type that it comes in: every tensor has the bytes that it had.
void TestExport::sameBytes() {
  QFETCH(QString, family);
  QFETCH(QString, type);
  const std::string name = "as it was " + family.toStdString() + type.toStdString();
  ModelWriteOptions written;
  written.type = type == "F32" ? StoredType::F32 : (type == "F16" ? StoredType::F16 : StoredType::BF16);
  const ModelSpec spec = writeModelFolder(m_files, at(name), smallConfig(family.toStdString()));
  std::filesystem::remove(at(name) / "model.safetensors");
  QVERIFY(writeModelTensors(m_files, at(name), spec, written, startingValues(spec)).has_value());
  ExportOptions options;
  options.type = type == "F32" ? ExportType::Fp32 : (type == "F16" ? ExportType::Fp16 : ExportType::Bf16);
  options.maxShardBytes = MiB;
  QVERIFY(exportModel(m_files, {at(name), {}}, at(name + " again"), options).has_value());
  const auto before = valueOrThrow(SafetensorsReader::open(m_files, at(name)));
  const auto after = valueOrThrow(SafetensorsReader::open(m_files, at(name + " again")));
  QCOMPARE(after.tensors().size(), before.tensors().size());
  for (const StoredTensor& tensor : before.tensors()) {
    const StoredTensor* other = after.find(tensor.name);
    QVERIFY2(other && other->type == tensor.type && other->shape == tensor.shape, tensor.name.c_str());
    std::vector<std::byte> a(static_cast<std::size_t>(tensor.bytes)), b(a.size());
    QVERIFY(before.readBytes(tensor, 0, a) && after.readBytes(*other, 0, b));
    QVERIFY2(a == b, tensor.name.c_str());
  }
}

void TestExport::shards() {
  Json config = smallConfig("llama");
  config["vocab_size"] = 6000;
  writeModelFolder(m_files, at("whole"), config);
  ExportOptions options;
  options.maxShardBytes = MiB;
  Bytes last = 0;
  options.progress = [&](Bytes done, Bytes total) {
    if (done <= last || done > total) return false;
    last = done;
    return true;
  };
  const auto exported = exportModel(m_files, {at("whole"), {}}, at("sharded"), options);
  QVERIFY2(exported.has_value(), exported ? "" : exported.error().message.c_str());
  QCOMPARE(last, exported->parameters * 4);
  QVERIFY(m_files.exists(at("sharded") / "model.safetensors.index.json"));
  QVERIFY(exported->files.size() > 5);
  QVERIFY(bitsOf(m_files, at("sharded")) == bitsOf(m_files, at("whole")));
  options.maxShardBytes = 1000;
  QVERIFY(!exportModel(m_files, {at("whole"), {}}, at("sharded 2"), options).has_value());
}

void TestExport::run() {
  const Json config = smallConfig("llama");
  writeRunDirectory(m_files, at("run"));
  for (const std::int64_t step : {1, 2}) saveCheckpoint(m_files, at("run"), step, config);
  const auto exported = exportModel(m_files, {at("run"), {}}, at("of run"));
  QVERIFY2(exported.has_value(), exported ? "" : exported.error().message.c_str());
  QCOMPARE(exported->step.value_or(0), std::int64_t{2});
  writeModelFolder(m_files, at("step 2"), config, smallTokenizer(), weightSeed + 2);
  QVERIFY(bitsOf(m_files, at("of run")) == bitsOf(m_files, at("step 2")));
}

void TestExport::tied() {
  for (const bool tied : {true, false}) {
    const std::string name = tied ? "tied" : "untied";
    writeModelFolder(m_files, at(name), smallConfig("llama", tied));
    QVERIFY(exportModel(m_files, {at(name), {}}, at(name + " exported")).has_value());
    const auto reader = SafetensorsReader::open(m_files, at(name + " exported"));
    QVERIFY(reader.has_value());
    QCOMPARE(reader->find("lm_head.weight") != nullptr, !tied);
    QVERIFY(reader->find("model.embed_tokens.weight") != nullptr);
  }
}

/// A config without end token has its family's default, which is a letter of this tokenizer.
void TestExport::controlTokens() {
  const Json config = smallConfig("llama");
  writeModelFolder(m_files, at("letters"), config);
  QVERIFY(valueOrThrow(readModelConfig(m_files, at("letters"))).eosTokens == std::vector<std::int64_t>{2});
  QVERIFY(exportModel(m_files, {at("letters"), {}}, at("letters exported")).has_value());
  const ModelSpec spec = valueOrThrow(readModelConfig(m_files, at("letters exported")));
  QVERIFY(spec.eosTokens == std::vector<std::int64_t>{0});
  const std::string settings = valueOrThrow(readTextFile(m_files, at("letters exported") / "tokenizer_config.json"));
  QVERIFY(contains(settings, "<|endoftext|>") && contains(settings, "PreTrainedTokenizerFast"));

  // Control tokens that the config names stay.
  Json named = config;
  named["eos_token_id"] = {0, 3};
  named["bos_token_id"] = 4;
  writeModelFolder(m_files, at("named"), named, smallTokenizer(300, 8));
  QVERIFY(exportModel(m_files, {at("named"), {}}, at("named exported")).has_value());
  const ModelSpec kept = valueOrThrow(readModelConfig(m_files, at("named exported")));
  QVERIFY((kept.eosTokens == std::vector<std::int64_t>{0, 3}));
  QCOMPARE(kept.bosToken.value_or(-1), std::int64_t{4});
}

void TestExport::companions() {
  writeModelFolder(m_files, at("companions"), smallConfig("llama"));
  const std::string settings = "{\"tokenizer_class\": \"Special\"}";
  QVERIFY(writeTextFile(m_files, at("companions") / "tokenizer_config.json", settings).has_value());
  QVERIFY(writeTextFile(m_files, at("companions") / "chat_template.jinja", "{{ messages }}").has_value());
  QVERIFY(writeTextFile(m_files, at("companions") / "notes.txt", "mine").has_value());
  QVERIFY(exportModel(m_files, {at("companions"), {}}, at("with companions")).has_value());
  QCOMPARE(valueOrThrow(readTextFile(m_files, at("with companions") / "tokenizer_config.json")), settings);
  QVERIFY(m_files.exists(at("with companions") / "chat_template.jinja"));
  QVERIFY(!m_files.exists(at("with companions") / "notes.txt"));
  // A model without a tokenizer is exported without one.
  writeModelFolder(m_files, at("bare"), smallConfig("llama"), "");
  const auto bare = exportModel(m_files, {at("bare"), {}}, at("bare exported"));
  QVERIFY(bare.has_value());
  QCOMPARE(bare->files.size(), std::size_t{2});
}

/// What a checkpoint carries along arrives, whatever became of the model that the run began with.
void TestExport::companionsOfACheckpoint() {
  const ModelSpec spec = valueOrThrow(modelSpecFromConfig(smallConfig("llama"), "config"));
  const StartingState state(spec, weightSeed);
  const std::vector<CheckpointFile> along{{"chat_template.jinja", "{{ messages }}"},
                                          {"tokenizer_config.json", "{\"tokenizer_class\": \"Own\"}"},
                                          {"generation_config.json", "{\"temperature\": 0.6}"}};
  TrainerState trainer;
  trainer.step = 4;
  const std::string config = smallConfig("llama").dump();
  const auto saved =
      writeCheckpoint(m_files, at("carrying") / "checkpoints", {state, trainer, config, smallTokenizer(), along}, {});
  QVERIFY2(saved.has_value(), saved ? "" : saved.error().message.c_str());
  const auto exported = exportModel(m_files, {saved->path, {}}, at("carried"));
  QVERIFY2(exported.has_value(), exported ? "" : exported.error().message.c_str());
  for (const CheckpointFile& file : along) {
    QCOMPARE(valueOrThrow(readTextFile(m_files, at("carried") / file.name)), file.text);
    QCOMPARE(std::count(exported->files.begin(), exported->files.end(), file.name), std::ptrdiff_t{1});
  }
  // They are covered by the manifest as all else is.
  QVERIFY(writeTextFile(m_files, saved->path / "chat_template.jinja", "{{ other }}").has_value());
  const auto damaged = exportModel(m_files, {saved->path, {}}, at("carried damaged"));
  QVERIFY(!damaged && contains(damaged.error().message, "chat_template.jinja"));
}

void TestExport::steps() {
  const Json config = smallConfig("llama");
  writeRunDirectory(m_files, at("steps"));
  for (const std::int64_t step : {3, 6, 9}) saveCheckpoint(m_files, at("steps"), step, config);
  ModelChoice choice{at("steps"), {}};
  choice.step = 6;
  const auto exported = exportModel(m_files, choice, at("step 6"));
  QVERIFY2(exported.has_value(), exported ? "" : exported.error().message.c_str());
  QCOMPARE(exported->step.value_or(0), std::int64_t{6});
  choice.step = 7;
  auto refused = exportModel(m_files, choice, at("step 7"));
  QVERIFY(!refused && contains(refused.error().message, "no checkpoint of step 7; there are those of steps 3, 6, 9"));
  choice.checkpoint = CheckpointChoice::Best;
  refused = exportModel(m_files, choice, at("step 7"));
  QVERIFY(!refused && contains(refused.error().message, "name one of them"));
  choice = {at("steps") / "checkpoints" / "step-00000003", {}};
  choice.step = 3;
  refused = exportModel(m_files, choice, at("step 3"));
  QVERIFY(!refused && contains(refused.error().message, "is no run"));
}

/// While the export of a checkpoint is at work, its run saves two more and removes it.
void TestExport::aRunThatRemovesItsCheckpoints() {
  const Json config = smallConfig("llama");
  writeRunDirectory(m_files, at("at work"));
  saveCheckpoint(m_files, at("at work"), 1, config);
  QVERIFY(writeTextFile(m_files, at("at work") / "run.json", "{}").has_value());
  ExportOptions options;
  bool removed = false;
  options.progress = [&](Bytes, Bytes) {
    if (!std::exchange(removed, true)) {
      saveCheckpoint(m_files, at("at work"), 2, config);
      valueOrThrow(m_files.remove(at("at work") / "checkpoints" / "step-00000001"));
    }
    return true;
  };
  const auto exported = exportModel(m_files, {at("at work"), {}}, at("of step 1"), options);
  QVERIFY2(exported.has_value(), exported ? "" : exported.error().message.c_str());
  QVERIFY(removed);
  QCOMPARE(exported->step.value_or(0), std::int64_t{1});
  writeModelFolder(m_files, at("as step 1"), config, smallTokenizer(), weightSeed + 1);
  QVERIFY(bitsOf(m_files, at("of step 1")) == bitsOf(m_files, at("as step 1")));
  QVERIFY(m_files.exists(at("of step 1") / "tokenizer.json"));
}

void TestExport::generatesTheSame() {
  saveCheckpoint(m_files, at("speaking"), 3, smallConfig("qwen3", true));
  const Path checkpoint = at("speaking") / "checkpoints" / "step-00000003";
  QVERIFY(exportModel(m_files, {checkpoint, {}}, at("speaking exported")).has_value());
  const auto textOf = [&](const Path& path) {
    auto generator = valueOrThrow(TextGenerator::open(m_files, {path, {}}, {}));
    return valueOrThrow(generator.generate("The wheel", {40, 0.9, 0, 1, 4})).text;
  };
  QCOMPARE(textOf(at("speaking exported")), textOf(checkpoint));
}

void TestExport::targets() {
  writeModelFolder(m_files, at("model"), smallConfig("llama"));
  const auto message = [&](const Path& target) -> std::string {
    const auto exported = exportModel(m_files, {at("model"), {}}, target);
    return exported ? "" : exported.error().message;
  };
  std::filesystem::create_directories(at("full"));
  QVERIFY(writeTextFile(m_files, at("full") / "mine.txt", "mine").has_value());
  QVERIFY(contains(message(at("full")), "mine.txt"));
  QVERIFY(contains(message(at("full") / "mine.txt"), "is a file"));
  QVERIFY(contains(message(at("model")), "not empty"));
  QVERIFY(!message("").empty());
  std::filesystem::create_directories(at("empty"));
  QCOMPARE(message(at("empty")), std::string());
  QCOMPARE(message(at("new") / "deep" / "er/"), std::string());
  QVERIFY(bitsOf(m_files, at("new") / "deep" / "er") == bitsOf(m_files, at("model")));
}

void TestExport::givenUp() {
  writeModelFolder(m_files, at("long"), smallConfig("llama"));
  ExportOptions options;
  int calls = 0;
  options.progress = [&](Bytes, Bytes) { return ++calls < 4; };
  const auto exported = exportModel(m_files, {at("long"), {}}, at("unfinished"), options);
  QVERIFY(!exported.has_value());
  QCOMPARE(exported.error().kind, ErrorKind::Interrupted);
  for (const auto& entry : std::filesystem::directory_iterator(m_folder.path().toStdString()))
    QVERIFY(!contains(entry.path().filename().string(), "unfinished"));
}

/// Whatever operation fails: the folder is there and complete, or not there.
void TestExport::everyFaultLeavesNothing() {
  MemoryFileSystem memory;
  writeModelFolder(memory, "/models/source", smallConfig("llama"));
  const std::vector<std::uint32_t> expected = bitsOf(memory, "/models/source");
  FaultyFileSystem faulty(memory);
  std::int64_t failures = 0;
  for (const Fault fault : {Fault::Error, Fault::NoSpace, Fault::Crash})
    for (std::int64_t at = 0;; ++at) {
      faulty.failAt(at, fault);
      const auto exported = exportModel(faulty, {"/models/source", {}}, "/exports/model");
      const bool happened = faulty.happened();
      faulty.repair();
      if (memory.exists("/exports/model")) {
        QVERIFY(bitsOf(memory, "/exports/model") == expected);
        QVERIFY(memory.exists("/exports/model/tokenizer.json"));
      } else {
        QVERIFY(!exported.has_value());
        ++failures;
        if (fault == Fault::Error && memory.exists("/exports"))
          QCOMPARE(valueOrThrow(memory.list("/exports")).size(), std::size_t{0});
      }
      valueOrThrow(memory.remove("/exports"));
      if (!happened) break;
    }
  QVERIFY(failures > 30);

  faulty.setFreeSpace(1000);
  const auto full = exportModel(faulty, {"/models/source", {}}, "/exports/model");
  QVERIFY(!full.has_value());
  QCOMPARE(full.error().kind, ErrorKind::OutOfSpace);
  QVERIFY(!memory.exists("/exports/model"));
}

void TestExport::transformersAgrees_data() {
  QTest::addColumn<QString>("family");
  QTest::addColumn<bool>("tied");
  QTest::addColumn<QString>("type");
  QTest::addColumn<bool>("sharded");
  for (const char* family :
       {"llama", "qwen2", "qwen3", "mistral", "gpt2", "phi3", "olmo2", "gemma2", "mixtral", "qwen3_moe"})
    for (const char* type : {"fp32", "bf16", "fp16"})
      QTest::newRow(fmt::format("{} {}", family, type).c_str()) << QString(family) << false << QString(type) << false;
  QTest::newRow("llama tied") << "llama" << true << "fp32" << false;
  QTest::newRow("qwen3 tied") << "qwen3" << true << "fp32" << false;
  QTest::newRow("llama in shards") << "llama" << false << "fp32" << true;
}

void TestExport::transformersAgrees() {
  QFETCH(QString, family);
  QFETCH(bool, tied);
  QFETCH(QString, type);
  QFETCH(bool, sharded);
  const QString python = qEnvironmentVariable("MILLRACE_ORACLE_PYTHON");
  if (python.isEmpty())
    QSKIP("MILLRACE_ORACLE_PYTHON does not name a Python with torch and transformers to compare with");
  Json config = smallConfig(family.toStdString(), tied);
  if (family == "mistral") config["sliding_window"] = 9;
  if (sharded) config["intermediate_size"] = 4000;
  const std::string name = fmt::format("oracle {} {} {} {}", family.toStdString(), tied, type.toStdString(), sharded);
  saveCheckpoint(m_files, at(name), 1, config);
  ExportOptions options;
  options.type = type == "fp32" ? ExportType::Fp32 : (type == "bf16" ? ExportType::Bf16 : ExportType::Fp16);
  if (sharded) options.maxShardBytes = MiB;
  const Path folder = at(name + " exported");
  QVERIFY(exportModel(m_files, {at(name) / "checkpoints" / "step-00000001", {}}, folder, options).has_value());
  QCOMPARE(m_files.exists(folder / "model.safetensors.index.json"), sharded);

  std::vector<std::int32_t> tokens;
  Random random(5);
  for (int i = 0; i < 40; ++i) tokens.push_back(static_cast<std::int32_t>(random.below(320)));
  QProcess process;
  process.start(python,
                {QStringLiteral(MILLRACE_SOURCE_DIR "/tests/support/transformers_logits.py"),
                 QString::fromStdString(folder.string()),
                 QString::fromStdString(fmt::format("{}", fmt::join(tokens, ","))), QString::fromUtf8(sampleText())});
  QVERIFY(process.waitForFinished(240000));
  QVERIFY2(process.exitCode() == 0, process.readAllStandardError().constData());
  const auto result = parseJson(process.readAllStandardOutput().toStdString(), "transformers");
  QVERIFY2(result.has_value(), result ? "" : result.error().message.c_str());
  const std::vector<float> logits = logitsOf(m_files, folder, tokens);
  double worst = 0, largest = 0;
  for (std::size_t t = 0; t < tokens.size(); ++t)
    for (std::size_t v = 0; v < 320; ++v) {
      const double expected = (*result)["logits"][t][v].get<double>();
      worst = std::max(worst, std::abs(expected - static_cast<double>(logits[t * 320 + v])));
      largest = std::max(largest, std::abs(expected));
    }
  QVERIFY2(worst <= 1e-5 * largest, fmt::format("relative error {:.3g}", worst / largest).c_str());
  QCOMPARE((*result)["tied"].get<bool>(), tied || family == "gpt2");
  QCOMPARE((*result)["eos"].get<int>(), 0);
  QCOMPARE((*result)["eos_token"].get<std::string>(), std::string("<|endoftext|>"));
  const Tokenizer tokenizer = valueOrThrow(Tokenizer::load(m_files, folder / "tokenizer.json"));
  QVERIFY((*result)["ids"].get<std::vector<std::int32_t>>() == valueOrThrow(tokenizer.encode(sampleText(), true)));
}

QTEST_GUILESS_MAIN(TestExport)
#include "test_export.moc"
