// A model's weights as files: read against the spec, written sharded, read back; every mismatch named.
#include "base/bf16.h"
#include "base/hash.h"
#include "files.h"
#include "model/config_import.h"
#include "storage/model_reader.h"
#include "storage/model_writer.h"

#include <QtTest>
#include <limits>
#include <map>

using namespace millrace;
using namespace millrace::test;

namespace {

using Values = std::map<std::string, std::vector<float>>;

ModelSpec smallSpec(const char* text) {
  return valueOrThrow(modelSpecFromConfig(Json::parse(text), "config.json"));
}

ModelSpec smallLlama(bool tied) {
  return smallSpec(tied ? R"({"model_type": "llama", "vocab_size": 50, "hidden_size": 12, "num_hidden_layers": 2,
                             "num_attention_heads": 2, "intermediate_size": 20, "tie_word_embeddings": true})"
                        : R"({"model_type": "llama", "vocab_size": 50, "hidden_size": 12, "num_hidden_layers": 2,
                             "num_attention_heads": 2, "intermediate_size": 20})");
}

ModelSpec smallGpt2() {
  return smallSpec(
      R"({"model_type": "gpt2", "vocab_size": 50, "n_embd": 12, "n_layer": 2, "n_head": 2, "n_positions": 8})");
}

/// Values that differ in every element of a model and do not fit into bf16.
float valueAt(const std::string& name, std::int64_t index) {
  return static_cast<float>(name.size()) + static_cast<float>(index) * 1.0009765f + static_cast<float>(name.back()) * 7;
}

Status fill(const ParameterSpec& parameter, std::int64_t first, std::span<float> destination) {
  for (std::size_t i = 0; i < destination.size(); ++i)
    destination[i] = valueAt(parameter.name, first + static_cast<std::int64_t>(i));
  return {};
}

/// All tensors of the spec as a file would hold them.
struct Tensor {
  std::vector<std::int64_t> shape;
  std::vector<float> values;
};
std::map<std::string, Tensor> tensorsOf(const ModelSpec& spec) {
  std::map<std::string, Tensor> tensors;
  for (const BlockSpec& block : blocksOf(spec)) {
    for (const ParameterSpec& parameter : block.parameters) {
      Tensor& tensor = tensors[parameter.name];
      for (int i = 0; i < parameter.shape.rank(); ++i) tensor.shape.push_back(parameter.shape[i]);
      tensor.values.resize(static_cast<std::size_t>(parameter.elements()));
      valueOrThrow(fill(parameter, 0, tensor.values));
    }
  }
  return tensors;
}

void writeFile(const Path& path, const std::map<std::string, Tensor>& tensors) {
  std::vector<SafetensorsEntry> entries;
  for (const auto& [name, tensor] : tensors) entries.push_back({name, StoredType::F32, tensor.shape});
  LocalFileSystem files;
  auto writer = valueOrThrow(SafetensorsWriter::create(files, path, entries, {{"format", "pt"}}));
  for (const auto& [name, tensor] : tensors) valueOrThrow(writer.append(std::as_bytes(std::span(tensor.values))));
  valueOrThrow(writer.commit());
}

} // namespace

class TestModelFiles : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void goldenModelsAreRead_data() {
    QTest::addColumn<QString>("name");
    for (const char* name : {"llama_gqa", "llama_mha_tied", "llama3_rope_scaled", "qwen2", "qwen3", "mistral_swa",
                             "gpt2", "phi3", "olmo2", "gemma2", "mixtral", "qwen3_moe"})
      QTest::newRow(name) << name;
  }
  void goldenModelsAreRead() {
    QFETCH(QString, name);
    LocalFileSystem files;
    const Path folder = Path(MILLRACE_TEST_DATA) / name.toStdString();
    const ModelSpec spec = valueOrThrow(readModelConfig(files, folder));
    const auto reader = ModelReader::open(files, folder, spec);
    QVERIFY2(reader, reader ? "" : reader.error().message.c_str());
    for (const BlockSpec& block : blocksOf(spec)) {
      std::vector<float> whole(static_cast<std::size_t>(block.elements), 9.0f);
      valueOrThrow(reader->readBlock(block, 0, whole));
      std::vector<float> expected(whole.size());
      for (const ParameterSpec& parameter : block.parameters)
        valueOrThrow(
            reader->file().readFloats(*reader->file().find(parameter.name), 0,
                                      std::span(expected).subspan(static_cast<std::size_t>(parameter.offset),
                                                                  static_cast<std::size_t>(parameter.elements()))));
      QVERIFY(whole == expected);
      std::vector<float> part(static_cast<std::size_t>(std::min<std::int64_t>(block.elements - 60, 5000)));
      valueOrThrow(reader->readBlock(block, 60, part));
      QVERIFY(std::equal(part.begin(), part.end(), whole.begin() + 60));
    }
  }

  void tolerated_data() {
    QTest::addColumn<QString>("what");
    for (const char* what : {"no prefix", "gpt2 without prefix", "gpt2 buffers", "gpt2 buffers without prefix",
                             "rotary buffers", "equal head beside tied", "head alone for tied"})
      QTest::newRow(what) << what;
  }
  void tolerated() {
    QFETCH(QString, what);
    const bool gpt2 = what.startsWith("gpt2");
    const ModelSpec spec = gpt2 ? smallGpt2() : smallLlama(what.contains("tied"));
    auto tensors = tensorsOf(spec);
    const std::string embedding = "model.embed_tokens.weight";
    if (what.contains("prefix") && !(what == "gpt2 buffers")) {
      std::map<std::string, Tensor> bare;
      for (const auto& [name, tensor] : tensors) bare[checkpointNames(name).back()] = tensor;
      tensors = bare;
    }
    if (what.startsWith("gpt2 buffers")) {
      const std::string prefix = what.endsWith("prefix") ? "h.1." : "transformer.h.1.";
      tensors[prefix + "attn.bias"] = {{1, 1, 8, 8}, std::vector<float>(64)};
      tensors[prefix + "attn.masked_bias"] = {{}, {1.0f}};
    }
    if (what == "rotary buffers") tensors["model.layers.0.self_attn.rotary_emb.inv_freq"] = {{3}, {1, 2, 3}};
    if (what == "equal head beside tied") tensors["lm_head.weight"] = tensors[embedding];
    if (what == "head alone for tied") {
      tensors["lm_head.weight"] = tensors[embedding];
      tensors.erase(embedding);
    }
    Folder folder;
    writeFile(folder / "model.safetensors", tensors);
    LocalFileSystem files;
    const auto reader = ModelReader::open(files, folder.path(), spec);
    QVERIFY2(reader, reader ? "" : reader.error().message.c_str());
    for (const BlockSpec& block : blocksOf(spec)) {
      for (const ParameterSpec& parameter : block.parameters) {
        std::vector<float> values(3);
        valueOrThrow(reader->read(parameter, 5, values));
        for (std::size_t i = 0; i < 3; ++i)
          QCOMPARE(values[i], valueAt(parameter.name, 5 + static_cast<std::int64_t>(i)));
      }
    }
  }

  void everyMismatchIsNamed() {
    const ModelSpec spec = smallLlama(false);
    auto tensors = tensorsOf(spec);
    tensors.erase("model.norm.weight");
    tensors.erase("model.layers.1.mlp.up_proj.weight");
    tensors["model.layers.0.self_attn.q_proj.bias"] = {{12}, std::vector<float>(12)};
    tensors["score.weight"] = {{2, 12}, std::vector<float>(24)};
    tensors["model.embed_tokens.weight"].shape = {12, 50};
    tensors["embed_tokens.weight"] = tensors["model.embed_tokens.weight"];
    Folder folder;
    writeFile(folder / "model.safetensors", tensors);
    LocalFileSystem files;
    const auto reader = ModelReader::open(files, folder.path(), spec);
    QVERIFY(!reader);
    QCOMPARE(reader.error().kind, ErrorKind::BadInput);
    const QString message = QString::fromStdString(reader.error().message);
    for (const char* part :
         {"missing (2): model.layers.1.mlp.up_proj.weight, model.norm.weight", "model.layers.0.self_attn.q_proj.bias",
          "score.weight", "model.embed_tokens.weight is (12, 50), expected (50, 12)",
          "two names (1): model.embed_tokens.weight and embed_tokens.weight"})
      QVERIFY2(message.contains(part), qPrintable(message + " lacks " + part));
  }

  /// However many there are.
  void everyMismatchIsListed() {
    const ModelSpec spec = smallLlama(false);
    auto tensors = tensorsOf(spec);
    for (int i = 0; i < 700; ++i) tensors["extra." + std::to_string(1000 + i)] = {{1}, {0}};
    tensors.erase("model.norm.weight");
    tensors["model.layers.0.mlp.down_proj.weight"].shape = {20, 12};
    Folder folder;
    writeFile(folder / "model.safetensors", tensors);
    LocalFileSystem files;
    const TensorProblems problems = compareTensors(valueOrThrow(SafetensorsReader::open(files, folder.path())), spec);
    QVERIFY(!problems.none());
    QCOMPARE(problems.unexpected.size(), std::size_t{700});
    QVERIFY(problems.missing == std::vector<std::string>{"model.norm.weight"});
    QVERIFY(problems.wrongShape ==
            std::vector<std::string>{"model.layers.0.mlp.down_proj.weight is (20, 12), expected (12, 20)"});
    QVERIFY(problems.notFloats.empty() && problems.twice.empty());
  }

  void addedRowsAreTheMean_data() {
    QTest::addColumn<bool>("tied");
    QTest::newRow("tied") << true;
    QTest::newRow("with a head") << false;
  }
  void addedRowsAreTheMean() {
    QFETCH(bool, tied);
    const ModelSpec stored = smallLlama(tied);
    ModelSpec grown = stored;
    grown.vocabulary += 3;
    Folder folder;
    writeFile(folder / "model.safetensors", tensorsOf(stored));
    LocalFileSystem files;
    QVERIFY(!ModelReader::open(files, folder.path(), grown)); // only when told so
    const auto reader = ModelReader::open(files, folder.path(), grown, {stored.vocabulary});
    QVERIFY2(reader, reader ? "" : reader.error().message.c_str());
    int tables = 0;
    for (const BlockSpec& block : blocksOf(grown)) {
      std::vector<float> whole(static_cast<std::size_t>(block.elements));
      valueOrThrow(reader->readBlock(block, 0, whole));
      const bool table = block.kind == BlockKind::Embedding || block.kind == BlockKind::Head;
      for (const ParameterSpec& parameter : block.parameters) {
        const std::int64_t width = parameter.shape.rank() == 2 ? parameter.shape[1] : 1;
        for (std::int64_t i = 0; i < parameter.elements(); ++i) {
          float expected = valueAt(parameter.name, i);
          if (table && i / width >= stored.vocabulary) {
            double sum = 0;
            for (std::int64_t row = 0; row < stored.vocabulary; ++row)
              sum += static_cast<double>(valueAt(parameter.name, row * width + i % width));
            expected = static_cast<float>(sum / static_cast<double>(stored.vocabulary));
          }
          QCOMPARE(whole[static_cast<std::size_t>(parameter.offset + i)], expected);
        }
      }
      if (!table) continue;
      ++tables;
      // In pieces that begin and end anywhere.
      std::vector<float> part(17);
      for (std::int64_t first = 0; first + 17 <= 53 * 12; first += 13) {
        valueOrThrow(reader->read(block.parameters.front(), first, part));
        QVERIFY(std::equal(part.begin(), part.end(), whole.begin() + first));
      }
    }
    QCOMPARE(tables, tied ? 1 : 2);
  }

  void notFloats() {
    const ModelSpec spec = smallLlama(true);
    std::vector<SafetensorsEntry> entries;
    Bytes bytes = 0;
    for (const auto& [name, tensor] : tensorsOf(spec)) {
      const StoredType type = name == "model.norm.weight" ? StoredType::I32 : StoredType::F32;
      entries.push_back({name, type, tensor.shape});
      bytes += static_cast<Bytes>(tensor.values.size() * 4);
    }
    Folder folder;
    LocalFileSystem files;
    auto writer = valueOrThrow(SafetensorsWriter::create(files, folder / "model.safetensors", entries, {}));
    valueOrThrow(writer.append(std::vector<std::byte>(static_cast<std::size_t>(bytes))));
    valueOrThrow(writer.commit());
    const auto reader = ModelReader::open(files, folder.path(), spec);
    QVERIFY(!reader && reader.error().message.find("model.norm.weight is I32") != std::string::npos);
  }

  void notFinite_data() {
    QTest::addColumn<float>("value");
    QTest::addColumn<int>("element");
    QTest::newRow("nan") << std::numeric_limits<float>::quiet_NaN() << 17;
    QTest::newRow("infinity") << std::numeric_limits<float>::infinity() << 239;
    QTest::newRow("negative infinity") << -std::numeric_limits<float>::infinity() << 0;
  }
  void notFinite() {
    QFETCH(float, value);
    QFETCH(int, element);
    const ModelSpec spec = smallLlama(true);
    const std::string name = "model.layers.1.mlp.up_proj.weight";
    auto tensors = tensorsOf(spec);
    tensors[name].values.at(static_cast<std::size_t>(element)) = value;
    Folder folder;
    writeFile(folder / "model.safetensors", tensors);
    LocalFileSystem files;
    const ModelReader reader = valueOrThrow(ModelReader::open(files, folder.path(), spec));
    int refused = 0;
    for (const BlockSpec& block : blocksOf(spec)) {
      std::vector<float> values(static_cast<std::size_t>(block.elements));
      const Status read = reader.readBlock(block, 0, values);
      if (read) continue;
      ++refused;
      const QString message = QString::fromStdString(read.error().message);
      QVERIFY2(message.contains("model.safetensors: " + QString::fromStdString(name)), qPrintable(message));
      QVERIFY2(message.contains(QString("element %1 is").arg(element)), qPrintable(message));
    }
    QCOMPARE(refused, 1);
  }

  void differingHeadBesideTied_data() {
    QTest::addColumn<QString>("what");
    QTest::newRow("value") << "value";
    QTest::newRow("shape") << "shape";
    QTest::newRow("not tied by the config") << "untied";
  }
  void differingHeadBesideTied() {
    QFETCH(QString, what);
    const ModelSpec spec = smallLlama(true);
    auto tensors = tensorsOf(spec);
    Tensor head = tensors["model.embed_tokens.weight"];
    if (what == "value") head.values.back() += 1;
    if (what == "shape") head.shape = {25, 24};
    if (what != "untied") tensors["lm_head.weight"] = head;
    Folder folder;
    writeFile(folder / "model.safetensors", tensors);
    LocalFileSystem files;
    const auto reader = ModelReader::open(files, folder.path(), what == "untied" ? smallLlama(false) : spec);
    QVERIFY(!reader);
    QVERIFY(reader.error().message.find("lm_head.weight") != std::string::npos);
    QCOMPARE(reader.error().message.find("tie_word_embeddings") != std::string::npos, what != "untied");
  }

  void writtenModelsAreRead_data() {
    QTest::addColumn<bool>("narrow");
    QTest::addColumn<qint64>("shard");
    QTest::addColumn<qint64>("buffer");
    QTest::addColumn<int>("files");
    QTest::newRow("one file") << false << qint64{1 << 30} << qint64{1 << 20} << 1;
    QTest::newRow("one file, tiny buffer") << false << qint64{1 << 30} << qint64{1} << 1;
    QTest::newRow("bf16, odd buffer") << true << qint64{1 << 30} << qint64{1000} << 1;
    QTest::newRow("shards") << false << qint64{4000} << qint64{4096} << 5;
    QTest::newRow("bf16 in shards") << true << qint64{2000} << qint64{4096} << 5;
    QTest::newRow("a shard a tensor") << false << qint64{1} << qint64{4096} << 21;
  }
  void writtenModelsAreRead() {
    QFETCH(bool, narrow);
    QFETCH(qint64, shard);
    QFETCH(qint64, buffer);
    QFETCH(int, files);
    const ModelSpec spec = smallLlama(false);
    Folder folder;
    LocalFileSystem fileSystem;
    ModelWriteOptions options;
    options.type = narrow ? StoredType::BF16 : StoredType::F32;
    options.maxShardBytes = shard;
    options.bufferBytes = buffer;
    const auto written = valueOrThrow(writeModelTensors(
        fileSystem, folder.path(), spec, options,
        [&](const ParameterSpec& parameter, std::int64_t first, std::span<float> destination) {
          const auto most = std::max<std::size_t>(1, static_cast<std::size_t>(buffer) / sizeof(float));
          if (destination.size() > most) return Status(failed("the buffer is larger than allowed"));
          return fill(parameter, first, destination);
        }));
    QCOMPARE(static_cast<int>(written.size()), files == 1 ? 1 : files + 1);
    QCOMPARE(valueOrThrow(fileSystem.list(folder.path())).size(), written.size());
    for (const WrittenFile& file : written) {
      const std::string raw = readRaw(folder / file.name);
      Hasher128 hasher;
      hasher.update(raw);
      QCOMPARE(file.checksum, hasher.hex());
      QCOMPARE(file.bytes, static_cast<Bytes>(raw.size()));
    }
    const auto reader = ModelReader::open(fileSystem, folder.path(), spec);
    QVERIFY2(reader, reader ? "" : reader.error().message.c_str());
    for (const BlockSpec& block : blocksOf(spec)) {
      for (const ParameterSpec& parameter : block.parameters) {
        QVERIFY(reader->stored(parameter).type == options.type);
        std::vector<float> values(static_cast<std::size_t>(parameter.elements()));
        valueOrThrow(reader->read(parameter, 0, values));
        for (std::size_t i = 0; i < values.size(); ++i) {
          const float exact = valueAt(parameter.name, static_cast<std::int64_t>(i));
          QCOMPARE(values[i], narrow ? toFloat(toBFloat16(exact)) : exact);
        }
      }
    }
    if (files > 1) {
      const Json index = Json::parse(readRaw(folder / "model.safetensors.index.json"));
      QCOMPARE(index["metadata"]["total_size"].get<std::int64_t>(), parameterCount(spec) * (narrow ? 2 : 4));
      QCOMPARE(index["weight_map"].size(), tensorsOf(spec).size());
      QVERIFY(written.front().name.starts_with("model-00001-of-000"));
    }
  }

  void failedWritesLeaveNothing_data() {
    QTest::addColumn<qint64>("capacity");
    const Bytes whole = 40'000;
    for (const Bytes capacity : {Bytes{0}, Bytes{10}, Bytes{3000}, Bytes{9000}, Bytes{14'000}, whole})
      QTest::addRow("disk of %lld bytes", static_cast<long long>(capacity)) << static_cast<qint64>(capacity);
  }
  void failedWritesLeaveNothing() {
    QFETCH(qint64, capacity);
    Folder folder;
    LocalFileSystem files;
    FullDisk disk(files, capacity);
    ModelWriteOptions options;
    options.maxShardBytes = 4000;
    const auto written = writeModelTensors(disk, folder.path(), smallLlama(false), options, fill);
    const auto names = valueOrThrow(disk.list(folder.path()));
    if (capacity == 40'000) {
      QVERIFY(written && names.size() == written->size());
      return;
    }
    QVERIFY(!written);
    QCOMPARE(written.error().kind, ErrorKind::OutOfSpace);
    QVERIFY(names.empty());
  }

  void sourceErrorsAndFullFolders() {
    Folder folder;
    LocalFileSystem files;
    const ModelSpec spec = smallLlama(true);
    int calls = 0;
    const auto stopped =
        writeModelTensors(files, folder.path(), spec, {}, [&](const ParameterSpec&, std::int64_t, std::span<float>) {
          return ++calls < 3 ? Status() : Status(failure(ErrorKind::Interrupted, "stopped"));
        });
    QVERIFY(!stopped);
    QCOMPARE(stopped.error().kind, ErrorKind::Interrupted);
    QVERIFY(valueOrThrow(files.list(folder.path())).empty());
    valueOrThrow(writeModelTensors(files, folder.path(), spec, {}, fill));
    const auto again = writeModelTensors(files, folder.path(), spec, {}, fill);
    QVERIFY(!again && again.error().message.find("is there already") != std::string::npos);
    QVERIFY(ModelReader::open(files, folder.path(), spec));
  }
};

QTEST_GUILESS_MAIN(TestModelFiles)
#include "test_model_files.moc"
