// What is no model to train from is named, with what to do: by the files of a folder and by the keys of a config.
#include "configs.h"
#include "model/foreign_models.h"

#include "base/atomic_file.h"

#include <QTemporaryDir>
#include <QtTest>

using namespace millrace;
using namespace millrace::test;

class TestForeignModels : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void folders_data() {
    QTest::addColumn<QStringList>("present");
    QTest::addColumn<QStringList>("parts"); // of the message of readModelConfig(); none: it is not this that is wrong
    QTest::newRow("adapter") << QStringList{"adapter_config.json", "adapter_model.safetensors"}
                             << QStringList{"LoRA", "merge_and_unload"};
    QTest::newRow("adapter with its model's config")
        << QStringList{"adapter_config.json", "config.json"} << QStringList{"LoRA", "merge_and_unload"};
    QTest::newRow("adapter beside a model")
        << QStringList{"adapter_config.json", "config.json", "model.safetensors"} << QStringList{};
    QTest::newRow("gguf") << QStringList{"README.md", "model-Q4_K_M.gguf"}
                          << QStringList{"model-Q4_K_M.gguf", "GGUF", "original model"};
    QTest::newRow("GGUF in capitals") << QStringList{"MODEL.GGUF"} << QStringList{"GGUF"};
    QTest::newRow("pipeline") << QStringList{"model_index.json"} << QStringList{"pipeline of several models"};
    QTest::newRow("maker's own") << QStringList{"params.json", "consolidated.00.pth"}
                                 << QStringList{"consolidated.00.pth", "original model"};
    QTest::newRow("weights alone") << QStringList{"model.safetensors"} << QStringList{"config.json: not found"};
    QTest::newRow("empty") << QStringList{} << QStringList{"config.json: not found"};
  }
  void folders() {
    QFETCH(QStringList, present);
    QFETCH(QStringList, parts);
    QTemporaryDir folder;
    for (const QString& name : present) write(folder, name, "{}");
    LocalFileSystem files;
    const Path path = folder.path().toStdString();
    if (parts.isEmpty()) {
      QVERIFY(refuseForeignFolder(files, path).has_value());
      return;
    }
    const auto spec = readModelConfig(files, path);
    QVERIFY(!spec);
    QCOMPARE(spec.error().kind, ErrorKind::BadInput);
    const QString message = QString::fromStdString(spec.error().message);
    QVERIFY2(message.startsWith(folder.path()), qPrintable(message));
    for (const QString& part : parts) QVERIFY2(message.contains(part), qPrintable(message + " lacks " + part));
  }

  void singleFiles_data() {
    QTest::addColumn<QString>("name");
    QTest::addColumn<QString>("part");
    QTest::newRow("gguf") << "tiny.gguf"
                          << "GGUF";
    QTest::newRow("pickle") << "pytorch_model.bin"
                            << "save_pretrained";
    QTest::newRow("pth") << "weights.pth"
                         << "program code";
    QTest::newRow("safetensors") << "model.safetensors"
                                 << "name the folder";
    QTest::newRow("archive") << "model.tar.gz"
                             << "unpack";
    QTest::newRow("other") << "notes.txt"
                           << "name the folder";
  }
  void singleFiles() {
    QFETCH(QString, name);
    QFETCH(QString, part);
    QTemporaryDir folder;
    write(folder, name, "x");
    LocalFileSystem files;
    const Status refused = refuseForeignFolder(files, Path(folder.filePath(name).toStdString()));
    QVERIFY(!refused);
    QVERIFY2(QString::fromStdString(refused.error().message).contains(part), refused.error().message.c_str());
  }

  void configs_data() {
    QTest::addColumn<QString>("change");
    QTest::addColumn<QStringList>("parts");
    const auto row = [](const char* name, const char* change, const QStringList& parts) {
      QTest::newRow(name) << change << parts;
    };
    row("gptq", R"({"quantization_config": {"quant_method": "gptq", "bits": 4}})", {"quantization_config", "GPTQ"});
    row("awq", R"({"quantization_config": {"quant_method": "awq"}})", {"AWQ", "original model"});
    row("bitsandbytes", R"({"quantization_config": {"quant_method": "bitsandbytes", "load_in_4bit": true}})",
        {"bitsandbytes", "dequantize"});
    row("older bitsandbytes", R"({"quantization_config": {"load_in_8bit": true}})", {"bitsandbytes"});
    row("fp8", R"({"quantization_config": {"quant_method": "fp8"}})", {"FP8"});
    row("unknown quantizer", R"({"quantization_config": 7})", {"quantization_config", "a quantizer"});
    row("compression", R"({"compression_config": {"format": "pack-quantized"}})", {"compression_config"});
    row("vision", R"({"model_type": "llava", "vision_config": {}, "text_config": {}})", {"vision_config", "images"});
    row("vision by type", R"({"model_type": "qwen2_5_vl"})", {"model_type 'qwen2_5_vl'", "images"});
    row("sound", R"({"audio_config": {"x": 1}})", {"audio_config", "sound"});
    row("encoder", R"({"model_type": "roberta"})", {"model_type 'roberta'", "encoder"});
    row("encoder and decoder", R"({"model_type": "t5"})", {"model_type 't5'", "decoder"});
    row("experts", R"({"model_type": "deepseek_v3", "n_routed_experts": 8})", {"model_type is 'deepseek_v3'"});
    row("program code", R"({"auto_map": {"AutoModelForCausalLM": "modeling_x.X"}})", {"auto_map", "program code"});
    row("adapter settings", R"({"peft_type": "LORA"})", {"peft_type", "merge"});
  }
  void configs() {
    QFETCH(QString, change);
    QFETCH(QStringList, parts);
    const auto spec = modelSpecFromConfig(changedConfig("llama", change.toStdString()), "a/config.json");
    QVERIFY(!spec);
    QCOMPARE(spec.error().kind, ErrorKind::BadInput);
    const QString message = QString::fromStdString(spec.error().message);
    QVERIFY2(message.startsWith("a/config.json: "), qPrintable(message));
    for (const QString& part : parts) QVERIFY2(message.contains(part), qPrintable(message + " lacks " + part));
  }

  void nullsChangeNothing() {
    const auto spec = modelSpecFromConfig(changedConfig("llama", R"({"quantization_config": null})"), "config.json");
    QVERIFY2(spec, spec ? "" : spec.error().message.c_str());
  }

  void weightsAndTokenizers_data() {
    QTest::addColumn<QStringList>("present");
    QTest::addColumn<QString>("weights");
    QTest::addColumn<QString>("tokenizer");
    QTest::newRow("pickles") << QStringList{"optimizer.bin", "pytorch_model.bin", "tokenizer.model"}
                             << "pytorch_model.bin is of PyTorch"
                             << "tokenizer.model is there";
    QTest::newRow("sharded pickles") << QStringList{"pytorch_model-00001-of-00002.bin", "pytorch_model.bin.index.json"}
                                     << "PyTorch's pickles"
                                     << "put the model's tokenizer.json";
    QTest::newRow("other binaries") << QStringList{"training_args.bin", "vocab.json"} << ""
                                    << "vocab.json is there";
    QTest::newRow("other name") << QStringList{"weights.safetensors"} << "weights.safetensors is there"
                                << "tokenizer.json";
    QTest::newRow("onnx") << QStringList{"model.onnx"} << "another framework"
                          << "tokenizer.json";
  }
  void weightsAndTokenizers() {
    QFETCH(QStringList, present);
    QFETCH(QString, weights);
    QFETCH(QString, tokenizer);
    QTemporaryDir folder;
    for (const QString& name : present) write(folder, name, "x");
    LocalFileSystem files;
    const Path path = folder.path().toStdString();
    const QString onWeights = QString::fromStdString(adviceOnWeights(files, path));
    QVERIFY2(weights.isEmpty() ? onWeights.isEmpty() : onWeights.contains(weights), qPrintable(onWeights));
    const QString onTokenizer = QString::fromStdString(adviceOnTokenizer(files, path));
    QVERIFY2(onTokenizer.contains(tokenizer), qPrintable(onTokenizer));
  }

 private:
  static void write(const QTemporaryDir& folder, const QString& name, const char* text) {
    LocalFileSystem files;
    valueOrThrow(writeTextFile(files, Path(folder.filePath(name).toStdString()), text));
  }
};

QTEST_GUILESS_MAIN(TestForeignModels)
#include "test_foreign_models.moc"
