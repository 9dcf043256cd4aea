// Text generation through the facade: equal text with and without streaming, valid UTF-8 piece by piece, ends, limits,
// and where models come from.
#include "engine/generate.h"
#include "support/model_folder.h"

#include "plan/planner.h"
#include "storage/model_reader.h"
#include "text/tokenizer.h"
#include "train/generator.h"
#include "train/load_weights.h"

#include <QTemporaryDir>
#include <QTest>
#include <cmath>
#include <filesystem>

using namespace millrace;
using namespace millrace::test;

namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

} // namespace

class TestGenerate : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void initTestCase();
  void likeliestTextIsTheModels_data();
  void likeliestTextIsTheModels();
  void limitsChangeNothing_data();
  void limitsChangeNothing();
  void seeds();
  void pieces();
  void ends();
  void loadingIsTold();
  void tokensAreCounted();
  void stopTexts();
  void endsOfTheGenerationSettings();
  void wholePrompts();
  void contextFull();
  void emptyPrompt();
  void badRequests();
  void doesNotFit();
  void checkpointsAndRuns();
  void damagedCheckpoints();
  void nothingThere_data();
  void nothingThere();

 private:
  Path at(const char* name) const { return Path(m_folder.path().toStdString()) / name; }
  Result<TextGenerator> open(const Path& path, const GenerateOptions& options = {},
                             CheckpointChoice checkpoint = CheckpointChoice::Latest) {
    return TextGenerator::open(m_files, {path, checkpoint}, options);
  }
  std::string textOf(const Path& path, const GenerateOptions& options = {},
                     CheckpointChoice checkpoint = CheckpointChoice::Latest) {
    auto generator = open(path, options, checkpoint);
    if (!generator) return "error: " + generator.error().message;
    const auto text = generator->generate("The mill", {30, 0, 0, 1, 1});
    return text ? text->text : "error: " + text.error().message;
  }

  LocalFileSystem m_files;
  QTemporaryDir m_folder;
};

void TestGenerate::initTestCase() {
  for (const char* family : {"llama", "qwen3", "mistral", "gpt2", "phi3", "olmo2", "gemma2", "mixtral", "qwen3_moe"}) {
    Json config = smallConfig(family);
    if (std::string(family) == "mistral") config["sliding_window"] = 9;
    writeModelFolder(m_files, at(family), config);
  }
}

void TestGenerate::likeliestTextIsTheModels_data() {
  QTest::addColumn<QString>("family");
  for (const char* family : {"llama", "qwen3", "mistral", "gpt2", "phi3", "olmo2", "gemma2", "mixtral", "qwen3_moe"})
    QTest::newRow(family) << QString(family);
}

/// Against a forward of the whole text for every token, without a cache.
void TestGenerate::likeliestTextIsTheModels() {
  QFETCH(QString, family);
  const Path folder = at(family.toLatin1());
  const ModelSpec spec = valueOrThrow(readModelConfig(m_files, folder));
  const Tokenizer tokenizer = valueOrThrow(Tokenizer::load(m_files, folder / "tokenizer.json"));
  const ModelReader reader = valueOrThrow(ModelReader::open(m_files, folder, spec));
  PlanRequest request;
  request.shape.context = 96;
  request.shape.headChunk = 1;
  request.shape.training = false;
  request.deviceLimit = request.hostLimit = GiB;
  const MemoryPlan plan = valueOrThrow(planMemory(spec, request));
  ThreadPool pool(2);
  const auto device = createCpuDevice(pool, GiB, GiB);
  const auto runner = valueOrThrow(ForwardRunner::create(*device, pool, spec, plan));
  valueOrThrow(loadWeights(runner->store(), *runner->streams().copyIn,
                           [&](const BlockSpec& block, std::int64_t first, std::span<float> values) {
                             return reader.readBlock(block, first, values);
                           }));
  const std::vector<std::int32_t> prompt = valueOrThrow(tokenizer.encode("The miller and his 水車", true));
  std::vector<std::int32_t> tokens;
  const std::int32_t end = *tokenizer.endOfText();
  const auto result = Generator(*runner).generate({prompt, 40, {&end, 1}, {0, 0, 1}, 1}, [&](std::int32_t token) {
    tokens.push_back(token);
    return true;
  });
  QVERIFY(result.has_value());
  QVERIFY(tokens.size() > 3);

  GenerateOptions options;
  options.prefill = 5;
  auto generator = open(folder, options);
  QVERIFY2(generator.has_value(), generator ? "" : generator.error().message.c_str());
  const auto text = generator->generate("The miller and his 水車", {40, 0, 0, 1, 1});
  QVERIFY2(text.has_value(), text ? "" : text.error().message.c_str());
  QVERIFY2(text->text == tokenizer.decode(tokens, true),
           (text->text + "\n--\n" + tokenizer.decode(tokens, true)).c_str());
  QCOMPARE(text->tokens, static_cast<std::int64_t>(tokens.size()));
  QCOMPARE(text->promptTokens, static_cast<std::int64_t>(prompt.size()));
}

void TestGenerate::limitsChangeNothing_data() {
  QTest::addColumn<QString>("family");
  for (const char* family : {"llama", "qwen3", "mistral", "gpt2", "phi3", "olmo2", "gemma2", "mixtral", "qwen3_moe"})
    QTest::newRow(family) << QString(family);
}

void TestGenerate::limitsChangeNothing() {
  QFETCH(QString, family);
  const Path folder = at(family.toLatin1());
  for (const Precision precision : {Precision::Fp32, Precision::Bf16}) {
    const auto textWith = [&](int threads, Bytes deviceLimit, std::int64_t context) -> std::string {
      GenerateOptions options;
      options.compute = {threads, deviceLimit, 0, precision};
      options.context = context;
      options.prefill = 16;
      auto generator = open(folder, options);
      if (!generator) return "error: " + generator.error().message;
      const auto text = generator->generate("Water turns the wheel", {30, 0.7, 20, 0.9, 5});
      return text ? text->text : "error: " + text.error().message;
    };
    const std::string reference = textWith(2, 0, 0);
    QVERIFY2(!contains(reference, "error"), reference.c_str());
    // The smallest limit is named by the refusal of one that is too small; layers stream then.
    const std::string refusal = textWith(2, 1, 80);
    const auto bytes = refusal.find('(');
    QVERIFY2(bytes != std::string::npos, refusal.c_str());
    const Bytes smallest = std::stoll(refusal.substr(bytes + 1));
    QVERIFY(contains(textWith(2, smallest - 1, 80), "too small"));
    QCOMPARE(textWith(2, smallest, 80), reference);
    QCOMPARE(textWith(1, 0, 0), reference);
    QCOMPARE(textWith(3, 0, 96), reference);
  }
}

void TestGenerate::seeds() {
  auto generator = open(at("llama"));
  QVERIFY(generator.has_value());
  const auto text = [&](std::uint64_t seed) { return generator->generate("The", {25, 1.0, 0, 1.0, seed})->text; };
  const std::string first = text(1);
  QCOMPARE(text(1), first);
  QVERIFY(text(2) != first);
  // A longer one in between makes the generator take more memory; the same text comes again.
  QVERIFY(generator->generate("The", {90, 1.0, 0, 1.0, 3}).has_value());
  QCOMPARE(text(1), first);
}

void TestGenerate::pieces() {
  auto generator = open(at("llama"));
  QVERIFY(generator.has_value());
  for (std::uint64_t seed = 1; seed < 20; ++seed) {
    std::string all;
    int count = 0;
    bool valid = true;
    const auto text = generator->generate("水", {60, 1.5, 0, 1.0, seed}, [&](std::string_view piece) {
      valid = valid && !piece.empty() &&
              QString::fromUtf8(piece.data(), static_cast<qsizetype>(piece.size())).toUtf8().toStdString() == piece;
      all += piece;
      ++count;
      return true;
    });
    QVERIFY(text.has_value());
    QVERIFY(valid);
    QCOMPARE(all, text->text);
    QVERIFY(count > 1);
  }
  int calls = 0;
  const auto stopped = generator->generate("The", {60, 0.8, 0, 1.0, 1}, [&](std::string_view) { return ++calls < 3; });
  QVERIFY(stopped.has_value());
  QVERIFY(stopped->stop == StopReason::Stopped);
  QVERIFY(stopped->tokens < 60);
}

void TestGenerate::ends() {
  auto generator = open(at("llama"));
  QVERIFY(generator.has_value());
  int ended = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const auto text = generator->generate("The wheel", {60, 3.0, 0, 1, seed});
    QVERIFY(text.has_value());
    QVERIFY(!contains(text->text, "endoftext"));
    if (text->stop == StopReason::EndOfText) {
      ++ended;
      QVERIFY(text->tokens < 60);
    } else {
      QVERIFY(text->stop == StopReason::Length);
      QCOMPARE(text->tokens, std::int64_t{60});
    }
  }
  QVERIFY(ended > 0 && ended < 60);

  // Control tokens that the config names end a text as well; other tokens that it names do not.
  const auto endedWith = [&](const Json& named) {
    Json config = smallConfig("llama");
    config["eos_token_id"] = named;
    writeModelFolder(m_files, at("ending"), config, smallTokenizer(300, 30));
    auto ending = valueOrThrow(open(at("ending")));
    int count = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed)
      count += ending.generate("The wheel", {30, 3.0, 0, 1, seed})->stop == StopReason::EndOfText ? 1 : 0;
    return count;
  };
  const int usual = endedWith(nullptr);
  Json special = Json::array(), letters = Json::array();
  for (int id = 1; id <= 30; ++id) special.push_back(id);
  for (int id = 31; id <= 90; ++id) letters.push_back(id);
  QVERIFY(endedWith(special) > usual + 5);
  QCOMPARE(endedWith(letters), usual);
}

void TestGenerate::loadingIsTold() {
  std::vector<std::int64_t> told;
  std::int64_t whole = 0;
  GenerateOptions options;
  options.loading = [&](std::int64_t done, std::int64_t total) {
    told.push_back(done);
    whole = total;
    return true;
  };
  auto generator = open(at("llama"), options);
  QVERIFY(generator.has_value());
  QVERIFY(told.empty()); // without a context its memory is taken with the first text
  QCOMPARE(generator->memory().tokens, std::int64_t{0});
  options.context = 40;
  generator = open(at("llama"), options);
  QVERIFY(generator.has_value());
  QVERIFY(told.size() > 3 && told.front() == 0 && std::is_sorted(told.begin(), told.end()) && told.back() < whole);
  QVERIFY(whole >= 3 * 64 * 64);
  const GeneratorMemory memory = generator->memory();
  QCOMPARE(memory.tokens, std::int64_t{40});
  QCOMPARE(generator->contextLimit(), std::int64_t{40});
  QVERIFY(!memory.device.empty());
  QVERIFY(memory.deviceBytes + memory.hostBytes >= 4 * whole);
  QVERIFY(!generator->step());

  options.loading = [&](std::int64_t done, std::int64_t total) { return done < total / 2; };
  const auto givenUp = open(at("llama"), options);
  QVERIFY(!givenUp.has_value());
  QCOMPARE(givenUp.error().kind, ErrorKind::Interrupted);
}

void TestGenerate::tokensAreCounted() {
  GenerateOptions options;
  options.prefill = 2;
  const std::string prompt = "Water turns the wheel, 1 wheel, 2 wheels";
  auto generator = open(at("llama"), options);
  QVERIFY(generator.has_value());
  const SamplingOptions sampling{20, 0.9, 0, 1, 3};
  std::vector<std::int64_t> counts;
  const auto count = [&](std::int64_t tokens) {
    counts.push_back(tokens);
    return true;
  };
  const auto text = generator->generate(prompt, sampling, {}, count);
  QVERIFY(text.has_value());
  // Zeros between the parts of the prompt, then each token.
  const std::int64_t parts = (text->promptTokens + 1) / 2;
  QVERIFY(parts > 2);
  std::vector<std::int64_t> expected(static_cast<std::size_t>(parts - 1), 0);
  for (std::int64_t i = 1; i <= text->tokens; ++i) expected.push_back(i);
  QVERIFY(counts == expected);

  const auto stoppedAt = [&](std::int64_t tokens) {
    return generator->generate(prompt, sampling, {}, [&](std::int64_t done) { return done < tokens; });
  };
  const auto early = stoppedAt(0);
  QVERIFY(early.has_value());
  QVERIFY(early->stop == StopReason::Stopped && early->tokens == 0 && early->text.empty());
  const auto later = stoppedAt(5);
  QVERIFY(later.has_value());
  QVERIFY(later->stop == StopReason::Stopped && later->tokens == 5);
  QCOMPARE(generator->generate(prompt, sampling)->text, text->text); // and all is as before
}

/// The same text as without, up to the first of them.
void TestGenerate::stopTexts() {
  auto generator = open(at("llama"));
  QVERIFY(generator.has_value());
  int stopped = 0;
  for (std::uint64_t seed = 1; seed < 12; ++seed) {
    const std::string whole = generator->generate("The", {60, 1.2, 0, 1, seed})->text;
    for (const std::string& stop : {whole.substr(whole.size() / 2, 3), std::string("no such text"), std::string("e")}) {
      if (stop.empty() || (static_cast<unsigned char>(stop[0]) & 0xC0u) == 0x80u) continue;
      SamplingOptions options{60, 1.2, 0, 1, seed};
      options.stop = {"never to be seen", stop};
      std::string streamed;
      const auto text = generator->generate("The", options, [&](std::string_view piece) {
        streamed += piece;
        return true;
      });
      QVERIFY2(text.has_value(), text ? "" : text.error().message.c_str());
      const std::size_t found = whole.find(stop);
      QCOMPARE(text->text, whole.substr(0, found));
      QCOMPARE(streamed, text->text);
      QCOMPARE(text->stop == StopReason::StopText, found != std::string::npos);
      if (found == std::string::npos) continue;
      ++stopped;
      QVERIFY(toString(text->stop) == "stop text");
    }
  }
  QVERIFY(stopped > 10);
  SamplingOptions empty;
  empty.stop = {""};
  QVERIFY(!generator->generate("The", empty).has_value());
}

/// Chat models say there what ends an answer.
void TestGenerate::endsOfTheGenerationSettings() {
  const auto endedWith = [&](const std::string& settings) {
    writeModelFolder(m_files, at("settings"), smallConfig("llama"), smallTokenizer(300, 30));
    if (!settings.empty()) (void)writeTextFile(m_files, at("settings") / "generation_config.json", settings);
    auto ending = valueOrThrow(open(at("settings")));
    int count = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed)
      count += ending.generate("The wheel", {30, 3.0, 0, 1, seed})->stop == StopReason::EndOfText ? 1 : 0;
    return count;
  };
  const int usual = endedWith("");
  Json special = Json::array();
  for (int id = 1; id <= 30; ++id) special.push_back(id);
  QVERIFY(endedWith(Json{{"eos_token_id", special}}.dump()) > usual + 5);
  QCOMPARE(endedWith(R"({"eos_token_id": 290})"), usual); // a letter
  for (const char* odd : {R"({"eos_token_id": "x"})", R"({"eos_token_id": [-1, 99999999999, null]})", "[]", "{", "{}"})
    QCOMPARE(endedWith(odd), usual);
  auto warned = valueOrThrow(open(at("settings")));
  QVERIFY(writeTextFile(m_files, at("settings") / "generation_config.json", "{").has_value());
  warned = valueOrThrow(open(at("settings")));
  QCOMPARE(warned.warnings().size(), std::size_t{1});
}

/// A tokenizer that begins every text with a token does not begin a rendered chat with a second one.
void TestGenerate::wholePrompts() {
  Json tokenizer = *parseJson(smallTokenizer(), "tokenizer");
  tokenizer["post_processor"] = *parseJson(R"({"type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "<|endoftext|>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
    "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
    "special_tokens": {"<|endoftext|>": {"id": "<|endoftext|>", "ids": [0], "tokens": ["<|endoftext|>"]}}})",
                                           "processor");
  writeModelFolder(m_files, at("begun"), smallConfig("llama"), tokenizer.dump());
  auto generator = valueOrThrow(open(at("begun")));
  SamplingOptions options{20, 0, 0, 1, 1};
  const auto begun = generator.generate("The mill", options);
  QVERIFY2(begun.has_value(), begun ? "" : begun.error().message.c_str());
  options.promptIsWhole = true;
  const auto whole = generator.generate("The mill", options);
  const auto spelled = generator.generate("<|endoftext|>The mill", options);
  QVERIFY(whole.has_value() && spelled.has_value());
  QCOMPARE(whole->promptTokens, begun->promptTokens - 1);
  QCOMPARE(spelled->promptTokens, begun->promptTokens);
  QCOMPARE(spelled->text, begun->text);
}

void TestGenerate::contextFull() {
  for (const char* family : {"llama", "gpt2"}) {
    auto generator = open(at(family));
    QVERIFY(generator.has_value());
    auto text = generator->generate("The", {1000, 0.9, 0, 1, 1});
    QVERIFY(text.has_value());
    QVERIFY(text->stop == StopReason::ContextFull);
    QCOMPARE(text->promptTokens + text->tokens, std::int64_t{96});
    GenerateOptions options;
    options.context = 20;
    auto shorter = open(at(family), options);
    QVERIFY(shorter.has_value());
    text = shorter->generate("The", {1000, 0.9, 0, 1, 1});
    QVERIFY(text.has_value());
    QVERIFY(text->stop == StopReason::ContextFull);
    QCOMPARE(text->promptTokens + text->tokens, std::int64_t{20});
    std::string longPrompt;
    for (int i = 0; i < 30; ++i) longPrompt += "xq ";
    const auto refused = shorter->generate(longPrompt, {5, 0, 0, 1, 1});
    QVERIFY(!refused.has_value());
    QCOMPARE(refused.error().kind, ErrorKind::BadInput);
    QVERIFY(contains(refused.error().message, "20 fit"));
  }
}

void TestGenerate::emptyPrompt() {
  auto generator = open(at("llama"));
  QVERIFY(generator.has_value());
  const auto text = generator->generate("", {10, 0.8, 0, 1, 1});
  QVERIFY2(text.has_value(), text ? "" : text.error().message.c_str());
  QCOMPARE(text->promptTokens, std::int64_t{1});
}

void TestGenerate::badRequests() {
  auto generator = open(at("llama"));
  QVERIFY(generator.has_value());
  for (const SamplingOptions& options :
       {SamplingOptions{0, 1, 0, 1, 1}, SamplingOptions{5, -1, 0, 1, 1}, SamplingOptions{5, 1, -2, 1, 1},
        SamplingOptions{5, 1, 0, 0, 1}, SamplingOptions{5, 1, 0, 1.5, 1}}) {
    const auto text = generator->generate("The", options);
    QVERIFY(!text.has_value());
    QCOMPARE(text.error().kind, ErrorKind::BadInput);
  }
  GenerateOptions options;
  options.prefill = 0;
  QVERIFY(!open(at("llama"), options).has_value());
  options = {};
  options.context = -1;
  QVERIFY(!open(at("llama"), options).has_value());

  // A tokenizer with more tokens than the model has rows is trouble only when one of them is used.
  Json config = smallConfig("llama");
  config["vocab_size"] = 260;
  writeModelFolder(m_files, at("small"), config);
  auto small = open(at("small"));
  QVERIFY(small.has_value());
  QVERIFY(small->generate("~", {5, 0, 0, 1, 1}).has_value());
  const auto refused = small->generate("The mill", {5, 0, 0, 1, 1});
  QVERIFY(!refused.has_value());
  QVERIFY(contains(refused.error().message, "260") || contains(refused.error().message, "259"));

  // Weights that are no numbers.
  const ModelSpec spec = valueOrThrow(readModelConfig(m_files, at("llama")));
  std::filesystem::create_directories(at("broken"));
  for (const char* name : {"config.json", "tokenizer.json"})
    std::filesystem::copy(at("llama") / name, at("broken") / name);
  QVERIFY(writeModelTensors(m_files, at("broken"), spec, {},
                            [&](const ParameterSpec& parameter, std::int64_t first, std::span<float> values) -> Status {
                              initialValues(spec, parameter, weightSeed, first, values);
                              if (parameter.name == "model.norm.weight")
                                std::fill(values.begin(), values.end(), std::numeric_limits<float>::max());
                              return {};
                            })
              .has_value());
  auto broken = open(at("broken"));
  QVERIFY(broken.has_value());
  for (const double temperature : {0.0, 0.8}) {
    const auto failed = broken->generate("The", {5, temperature, 0, 1, 1});
    QVERIFY(!failed.has_value());
    QCOMPARE(failed.error().kind, ErrorKind::Failed);
    QVERIFY2(contains(failed.error().message, "the model's logit"), failed.error().message.c_str());
  }
}

void TestGenerate::doesNotFit() {
  GenerateOptions options;
  options.context = 90;
  options.compute.deviceLimit = 1000;
  auto generator = open(at("llama"), options);
  QVERIFY(!generator.has_value());
  QCOMPARE(generator.error().kind, ErrorKind::DoesNotFit);
  options.compute.deviceLimit = 0;
  options.compute.hostLimit = 1000;
  generator = open(at("llama"), options);
  QVERIFY(!generator.has_value());
  QCOMPARE(generator.error().kind, ErrorKind::DoesNotFit);
}

void TestGenerate::checkpointsAndRuns() {
  const Json config = smallConfig("llama");
  const Path run = at("run");
  writeRunDirectory(m_files, run);
  QVERIFY(contains(textOf(run), "no checkpoint"));
  for (const std::int64_t step : {10, 20, 30}) saveCheckpoint(m_files, run, step, config);
  // The same weights as a model folder.
  for (const std::uint64_t step : {10, 30})
    writeModelFolder(m_files, at(step == 10 ? "as10" : "as30"), config, smallTokenizer(), weightSeed + step);
  const std::string text10 = textOf(at("as10"));
  const std::string text30 = textOf(at("as30"));
  QVERIFY(text10 != text30);
  QCOMPARE(textOf(run), text30);
  QCOMPARE(textOf(run / "checkpoints" / "step-00000010"), text10);
  QVERIFY(contains(textOf(run, {}, CheckpointChoice::Best), "best"));
  QVERIFY(contains(textOf(at("as10"), {}, CheckpointChoice::Best), "is no run"));
  Log log;
  QVERIFY(CheckpointStore(m_files, run / "checkpoints", log).markBest(10, 1.5).has_value());
  QCOMPARE(textOf(run, {}, CheckpointChoice::Best), text10);
  QCOMPARE(textOf(run), text30);
}

void TestGenerate::damagedCheckpoints() {
  const Json config = smallConfig("llama");
  const Path run = at("damaged");
  writeRunDirectory(m_files, run);
  for (const std::int64_t step : {10, 20}) saveCheckpoint(m_files, run, step, config);
  const std::string text10 = textOf(run / "checkpoints" / "step-00000010");
  const Path newest = run / "checkpoints" / "step-00000020";
  const auto flip = [&](const char* name) {
    auto file = m_files.open(newest / name, OpenMode::ReadWrite);
    std::byte byte{};
    const Bytes middle = *(*file)->size() / 2;
    return (*file)->read({&byte, 1}, middle).has_value() && (byte ^= std::byte{1}, true) &&
           (*file)->write({&byte, 1}, middle).has_value();
  };
  // Damage to the moments does not matter here; any other is found, named, and the checkpoint before is used.
  QVERIFY(flip("first-moment-00001-of-00001.safetensors"));
  QVERIFY(textOf(run) != text10);
  for (const char* name : {"model-00001-of-00001.safetensors", "tokenizer.json", "config.json", "manifest.json"}) {
    QVERIFY(flip(name));
    QVERIFY2(contains(textOf(newest), name), textOf(newest).c_str());
    QCOMPARE(textOf(run), text10);
    auto generator = open(run);
    QVERIFY(generator.has_value());
    QCOMPARE(generator->warnings().size(), std::size_t{1});
    QVERIFY(contains(generator->warnings()[0], "step 20"));
    QVERIFY(flip(name)); // back
  }
  QVERIFY(textOf(run) != text10);
  QVERIFY(std::filesystem::remove(newest / "manifest.json"));
  QVERIFY(contains(textOf(newest), "incomplete"));
  QCOMPARE(textOf(run), text10);
}

void TestGenerate::nothingThere_data() {
  QTest::addColumn<QString>("path");
  QTest::addColumn<QString>("expected");
  QTest::newRow("missing") << "nowhere"
                           << "no such folder";
  QTest::newRow("file") << "llama/config.json"
                        << "is a file";
  QTest::newRow("empty") << "empty"
                         << "expected a checkpoint folder";
  QTest::newRow("no weights") << "no weights"
                              << "model.safetensors";
  QTest::newRow("no tokenizer") << "no tokenizer"
                                << "tokenizer.json: missing";
  QTest::newRow("bad tokenizer") << "bad tokenizer"
                                 << "tokenizer.json";
  QTest::newRow("bad config") << "bad config"
                              << "config.json";
}

void TestGenerate::nothingThere() {
  QFETCH(QString, path);
  QFETCH(QString, expected);
  std::filesystem::create_directories(at("empty"));
  const auto copyOf = [&](const char* name) {
    std::filesystem::remove_all(at(name));
    std::filesystem::copy(at("llama"), at(name));
    return at(name);
  };
  std::filesystem::remove(copyOf("no weights") / "model.safetensors");
  std::filesystem::remove(copyOf("no tokenizer") / "tokenizer.json");
  QVERIFY(writeTextFile(m_files, copyOf("bad tokenizer") / "tokenizer.json", "{\"model\": 3}").has_value());
  QVERIFY(writeTextFile(m_files, copyOf("bad config") / "config.json", "{\"model_type\": \"other\"}").has_value());
  const auto generator = open(at(path.toUtf8().constData()));
  QVERIFY(!generator.has_value());
  QCOMPARE(generator.error().kind, ErrorKind::BadInput);
  QVERIFY2(contains(generator.error().message, expected.toStdString()), generator.error().message.c_str());
}

QTEST_GUILESS_MAIN(TestGenerate)
#include "test_generate.moc"
