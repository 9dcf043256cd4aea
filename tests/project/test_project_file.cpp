// Project files: what they mean, what is refused and how, and that writing them loses nothing.
#include "base/atomic_file.h"
#include "project/project_file.h"

#include <QTemporaryDir>
#include <QtTest>

using namespace millrace;

namespace {

/// A project that gives no more than it must.
Json smallest() {
  return *parseJson(R"({
    "format": 1,
    "model": {"folder": "models/tiny"},
    "data": {"sources": "text.txt"},
    "training": {"steps": 2000}
  })",
                    "smallest");
}

/// The smallest project with changes: an object merged into it key by key (RFC 7386: null removes).
Json changed(const char* patch) {
  Json json = smallest();
  json.merge_patch(*parseJson(patch, "patch"));
  return json;
}

Result<Project> read(const Json& json) {
  return projectFromJson(json, "p.json", "/base/folder");
}

} // namespace

class TestProjectFile : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void defaults() {
    const auto project = read(smallest());
    QVERIFY2(project.has_value(), project ? "" : project.error().message.c_str());
    Project expected;
    expected.name = "p";
    expected.model = ModelFolder{"/base/folder/models/tiny"};
    expected.data.sources.push_back({{"/base/folder/text.txt"}, DataFormat::Auto, "text", ""});
    expected.training.length = {LengthUnit::Steps, 2000};
    QVERIFY(*project == expected);
    QVERIFY(!project->training.warmupSteps);
  }

  void everyKey() {
    const auto json = parseJson(R"({
      "format": 1, "name": "Everything at once",
      "model": {"config": {"model_type": "llama", "rope_theta": 1e4, "z": [1, null], "a": "ü"}},
      "tokenizer": {"train": {"vocabulary": 4096, "bytes": "10MB"}},
      "data": {"sources": [{"path": ["a.txt", "/abs/b.txt"], "format": "txt", "separator": "%"},
                           {"path": "../c.jsonl", "format": "jsonl", "text_field": "body", "sets": ["ArXiv"]},
                           "d.txt", {"path": "chats", "format": "sharegpt"}],
               "validation_fraction": 0.1, "cache": "cache", "bad_rows": 7,
               "chat": {"template": "chat.jinja", "learn": "last", "over_long": "split"}},
      "training": {"hours": 1.5, "micro_batch": 4, "tokens_per_step": 8192, "context": 256, "precision": "bf16",
                   "clip": "exact-bf16", "max_grad_norm": 0.5, "recompute": "selective", "schedule_group": 2,
                   "slots": 3, "offload_activations": "on", "overlap": false, "seed": 9007199254740993,
                   "learning_rate": 1e-3, "min_learning_rate_ratio": 0.05, "schedule": "wsd", "warmup_steps": 12,
                   "decay_fraction": 0.3, "beta1": 0.8, "beta2": 0.99, "epsilon": 1e-9, "weight_decay": 0.01,
                   "max_bad_steps": 3, "threads": 5, "device": "cuda:1", "head_chunk": 64},
      "memory": {"vram_limit": "24MiB", "ram_limit": "2GiB", "placement": "weights",
                 "nvme": {"directories": ["ssd", "/mnt/nvme"], "limit": "300GiB"}},
      "checkpoint": {"every": 50, "every_minutes": 0, "keep": 4, "keep_best": false},
      "evaluation": {"every": 20, "rows": 0, "early_stop": 3},
      "samples": {"every": 10, "prompts": ["", "Once"], "tokens": 40, "temperature": 0, "top_k": 5, "top_p": 0.5,
                  "seed": 0}
    })",
                                "everything");
    QVERIFY(json.has_value());
    const auto project = read(*json);
    QVERIFY2(project.has_value(), project ? "" : project.error().message.c_str());
    QCOMPARE(project->name, std::string("Everything at once"));
    const auto config = std::get<ModelConfig>(project->model);
    QVERIFY(config.file.empty());
    QVERIFY(*parseJson(config.text, "config") == (*json)["model"]["config"]);
    QVERIFY(std::get<TokenizerTraining>(project->tokenizer) == (TokenizerTraining{4096, 10000000}));
    QCOMPARE(project->data.sources.size(), std::size_t{4});
    QVERIFY(project->data.sources[0] ==
            (DataSourceSpec{{"/base/folder/a.txt", "/abs/b.txt"}, DataFormat::Text, "text", "%"}));
    QVERIFY(project->data.sources[1] == (DataSourceSpec{{"/base/c.jsonl"}, DataFormat::Jsonl, "body", "", {"ArXiv"}}));
    QVERIFY(project->data.sources[2] == (DataSourceSpec{{"/base/folder/d.txt"}, DataFormat::Auto, "text", ""}));
    QVERIFY(project->data.sources[3] == (DataSourceSpec{{"/base/folder/chats"}, DataFormat::ShareGpt, "text", ""}));
    QVERIFY(project->data.chat == (ChatConfig{"", "/base/folder/chat.jinja", LearnFrom::Last, OverLong::Split}));
    QCOMPARE(project->data.cache, Path("/base/folder/cache"));
    QCOMPARE(project->data.validationFraction, 0.1);
    QCOMPARE(project->data.badRows, 7);
    TrainingConfig training;
    training.length = {LengthUnit::Hours, 1.5};
    training.microBatch = 4;
    training.microBatches = 8;
    training.context = 256;
    training.precision = Precision::Bf16;
    training.clip = ClipMode::ExactBf16;
    training.maxGradNorm = 0.5;
    training.recompute = RecomputePolicy::Selective;
    training.scheduleGroup = 2;
    training.slots = 3;
    training.offloadActivations = Switch::On;
    training.overlap = false;
    training.seed = 9007199254740993;
    training.learningRate = 1e-3;
    training.minLearningRateRatio = 0.05;
    training.schedule = ScheduleShape::Wsd;
    training.warmupSteps = 12;
    training.decayFraction = 0.3;
    training.beta1 = 0.8;
    training.beta2 = 0.99;
    training.epsilon = 1e-9;
    training.weightDecay = 0.01;
    training.maxBadSteps = 3;
    training.threads = 5;
    training.device = "cuda:1";
    training.headChunk = 64;
    QVERIFY(project->training == training);
    QCOMPARE(project->training.tokensPerStep(), 8192);
    QVERIFY(
        project->memory ==
        (MemoryConfig{24 * MiB, 2 * GiB, PlacementChoice::Weights, {{"/base/folder/ssd", "/mnt/nvme"}, 300 * GiB}}));
    QVERIFY(project->checkpoint == (CheckpointConfig{50, 0, 4, false}));
    QVERIFY(project->evaluation == (EvaluationConfig{20, 0, 3}));
    QVERIFY(project->samples == (SamplesConfig{10, {"", "Once"}, 40, 0, 5, 0.5, 0}));

    // Written and read from another folder, it is the same project.
    const auto again = projectFromJson(projectToJson(*project), "q.json", "/elsewhere");
    QVERIFY2(again.has_value(), again ? "" : again.error().message.c_str());
    QVERIFY(*again == *project);
  }

  void roundTrip_data() {
    QTest::addColumn<QString>("patch");
    QTest::newRow("smallest") << "{}";
    QTest::newRow("tokens") << R"({"training": {"steps": null, "tokens": 123456789012345}})";
    QTest::newRow("epochs") << R"({"training": {"steps": null, "epochs": 0.1}})";
    QTest::newRow("constant") << R"({"training": {"schedule": "constant"}})";
    QTest::newRow("linear to zero") << R"({"training": {"schedule": "linear", "min_learning_rate_ratio": 0}})";
    QTest::newRow("no clipping") << R"({"training": {"clip": "off"}})";
    QTest::newRow("no validation") << R"({"data": {"validation_fraction": 0}})";
    QTest::newRow("config file")
        << R"({"model": {"folder": null, "config": "c.json"}, "tokenizer": {"file": "t.json"}})";
    QTest::newRow("tokenizer beside a folder") << R"({"tokenizer": {"file": "/t/tokenizer.json"}})";
    QTest::newRow("awkward numbers") << R"({"training": {"learning_rate": 0.1234567890123456789, "epsilon": 1e-30}})";
    QTest::newRow("awkward texts")
        << "{\"name\": \"a \\\"b\\\" ü\", \"samples\": {\"prompts\": [\"\\n\\u0001\", \"日本\"]}}";
  }
  void roundTrip() {
    QFETCH(QString, patch);
    const auto project = read(changed(qPrintable(patch)));
    QVERIFY2(project.has_value(), project ? "" : project.error().message.c_str());
    const auto text = projectToJson(*project).dump(2);
    const auto json = parseJson(text, "written");
    QVERIFY(json.has_value());
    const auto again = projectFromJson(*json, "q.json", "/elsewhere");
    QVERIFY2(again.has_value(), again ? "" : again.error().message.c_str());
    QVERIFY(*again == *project);
    QCOMPARE(projectToJson(*again).dump(2), text);
  }

  void warmup_data() {
    QTest::addColumn<QString>("patch");
    QTest::addColumn<int>("warmup");
    QTest::newRow("left to the run") << R"({"training": {"steps": 300}})" << -1;
    QTest::newRow("none") << R"({"training": {"steps": 300, "warmup_steps": 0}})" << 0;
    QTest::newRow("given") << R"({"training": {"steps": 300, "warmup_steps": 200}})" << 200;
  }
  void warmup() {
    QFETCH(QString, patch);
    QTEST(static_cast<int>(read(changed(qPrintable(patch)))->training.warmupSteps.value_or(-1)), "warmup");
  }

  void refused_data() {
    QTest::addColumn<QString>("patch");
    QTest::addColumn<QStringList>("parts"); // of the message
    const auto row = [](const char* name, const char* patch, const QStringList& parts) {
      QTest::newRow(name) << QString(patch) << parts;
    };
    row("no format", R"({"format": null})", {"format is missing", "\"format\": 1"});
    row("newer format", R"({"format": 2})", {"format is 2", "reads up to 1"});
    row("unknown key", R"({"trainning": {}})", {"trainning is not a known key", "did you mean training"});
    row("unknown key inside", R"({"training": {"learning_rat": 1}})",
        {"training.learning_rat ", "did you mean training.learning_rate"});
    row("unknown key of a source", R"({"data": {"sources": [{"path": "a", "seperator": "%"}]}})",
        {"data.sources.0.seperator", "data.sources.0.separator"});
    row("unknown key of train", R"({"tokenizer": {"train": {"vocabulary": 300, "byte": 1}}})",
        {"tokenizer.train.byte ", "tokenizer.train.bytes"});
    row("section is a list", R"({"memory": [1]})", {"memory is array", "expected an object"});
    row("bad name", R"({"name": "a/b"})", {"name must be"});
    row("empty name", R"({"name": ""})", {"name must be"});

    row("no model", R"({"model": null})", {"model.folder", "model.config is missing", "random"});
    row("two models", R"({"model": {"config": "c.json"}})", {"model.config is given beside model.folder"});
    row("empty folder", R"({"model": {"folder": ""}})", {"model.folder is empty"});
    row("config is a number", R"({"model": {"folder": null, "config": 3}})", {"model.config is number", "config.json"});
    row("no tokenizer", R"({"model": {"folder": null, "config": "c.json"}})",
        {"tokenizer is missing", "tokenizer.train"});
    row("empty tokenizer", R"({"tokenizer": {}})", {"tokenizer.file", "vocabulary"});
    row("two tokenizers", R"({"tokenizer": {"file": "t", "train": {"vocabulary": 300}}})",
        {"tokenizer.file is given beside"});
    row("no vocabulary", R"({"tokenizer": {"train": {}}})", {"tokenizer.train.vocabulary is missing"});
    row("small vocabulary", R"({"tokenizer": {"train": {"vocabulary": 256}}})", {"vocabulary is 256", "from 257"});
    row("no text for it", R"({"tokenizer": {"train": {"vocabulary": 300, "bytes": 0}}})",
        {"tokenizer.train.bytes is 0"});

    row("no data", R"({"data": null})", {"data.sources is missing"});
    row("no sources", R"({"data": {"sources": []}})", {"data.sources is missing"});
    row("sources is a number", R"({"data": {"sources": 4}})", {"data.sources is number", "list"});
    row("source is a number", R"({"data": {"sources": ["a", 4]}})", {"data.sources.1 is number"});
    row("no path", R"({"data": {"sources": {"format": "txt"}}})", {"data.sources.path is missing"});
    row("empty path", R"({"data": {"sources": [{"path": ["a", ""]}]}})", {"data.sources.0.path is empty"});
    row("empty path alone", R"({"data": {"sources": ["a", ""]}})", {"data.sources.1 is empty"});
    row("path is a number", R"({"data": {"sources": [{"path": [1]}]}})", {"data.sources.0.path holds number"});
    row("format unknown", R"({"data": {"sources": [{"path": "a", "format": "csv"}]}})", {"'csv'", "auto, txt, jsonl"});
    row("field of plain text", R"({"data": {"sources": [{"path": "a", "format": "txt", "text_field": "x"}]}})",
        {"text_field is for format jsonl"});
    row("separator of rows", R"({"data": {"sources": [{"path": "a", "format": "jsonl", "separator": "%"}]}})",
        {"separator is for format txt"});
    row("field of conversations", R"({"data": {"sources": [{"path": "a", "format": "alpaca", "text_field": "x"}]}})",
        {"text_field is for format jsonl, but format is alpaca"});
    row("sets of plain text", R"({"data": {"sources": [{"path": "a", "format": "txt", "sets": ["x"]}]}})",
        {"sets is for rows of JSON"});
    row("two chat templates", R"({"data": {"chat": {"template": "a.jinja", "built_in": "chatml"}}})",
        {"data.chat.built_in is given beside data.chat.template"});
    row("learn unknown", R"({"data": {"chat": {"learn": "user"}}})",
        {"data.chat.learn is 'user'", "assistant, last, all"});
    row("separator of two lines", R"({"data": {"sources": [{"path": "a", "separator": "a\nb"}]}})",
        {"holds a line end"});
    row("all held out", R"({"data": {"validation_fraction": 1}})", {"data.validation_fraction is 1", "from 0 to 0.5"});
    row("negative bad rows", R"({"data": {"bad_rows": -1}})", {"data.bad_rows is -1"});
    row("empty cache", R"({"data": {"cache": ""}})", {"data.cache is empty"});

    row("no training", R"({"training": null})", {"training.steps is missing", "tokens, epochs, hours"});
    row("two lengths", R"({"training": {"hours": 1}})", {"training.hours is given beside training.steps"});
    row("no steps", R"({"training": {"steps": 0}})", {"training.steps is 0", "from 1"});
    row("half a step", R"({"training": {"steps": 1.5}})", {"training.steps is 1.5", "whole number"});
    row("negative hours", R"({"training": {"steps": null, "hours": -1}})", {"training.hours is -1"});
    row("steps as text", R"({"training": {"steps": "many"}})", {"training.steps is 'many'"});
    row("two batch sizes", R"({"training": {"micro_batches": 2, "tokens_per_step": 8192}})",
        {"training.tokens_per_step is given beside training.micro_batches"});
    row("batch does not divide", R"({"training": {"micro_batch": 4, "context": 256, "tokens_per_step": 3000}})",
        {"training.tokens_per_step is 3000", "4 x 256 = 1024", "2048 and 3072"});
    row("batch too small", R"({"training": {"micro_batch": 4, "context": 256, "tokens_per_step": 100}})",
        {"the nearest is 1024"});
    row("too many micro-batches", R"({"training": {"micro_batch": 1, "context": 2, "tokens_per_step": 4194304}})",
        {"2097152 micro-batches"});
    row("no rows", R"({"training": {"micro_batch": 0}})", {"training.micro_batch is 0"});
    row("context of one", R"({"training": {"context": 1}})", {"training.context is 1"});
    row("precision", R"({"training": {"precision": "fp16"}})", {"'fp16'", "fp32, tf32, bf16"});
    row("clip", R"({"training": {"clip": "yes"}})", {"'yes'", "exact, exact-bf16, off"});
    row("norm without clip", R"({"training": {"clip": "off", "max_grad_norm": 1}})",
        {"training.max_grad_norm", "clip off"});
    row("norm of zero", R"({"training": {"max_grad_norm": 0}})", {"training.max_grad_norm is 0"});
    row("recompute", R"({"training": {"recompute": "some"}})", {"auto, full, selective, none"});
    row("group", R"({"training": {"micro_batches": 2, "schedule_group": 3}})",
        {"schedule_group is 3", "2 micro-batches"});
    row("slots", R"({"training": {"slots": 4}})", {"training.slots is 4", "from 2 to 3"});
    row("switch", R"({"training": {"offload_activations": true}})", {"training.offload_activations is true"});
    row("overlap", R"({"training": {"overlap": "on"}})", {"training.overlap is 'on'", "true or false"});
    row("seed", R"({"training": {"seed": -1}})", {"training.seed is -1"});
    row("learning rate", R"({"training": {"learning_rate": 11}})", {"training.learning_rate is 11"});
    row("learning rate as text", R"({"training": {"learning_rate": "1e-3"}})", {"training.learning_rate is '1e-3'"});
    row("schedule", R"({"training": {"schedule": "step"}})", {"constant, linear, cosine, wsd"});
    row("minimum of constant", R"({"training": {"schedule": "constant", "min_learning_rate_ratio": 0.1}})",
        {"min_learning_rate_ratio has no meaning"});
    row("decay without wsd", R"({"training": {"decay_fraction": 0.1}})", {"training.decay_fraction", "wsd"});
    row("long warm-up", R"({"training": {"steps": 10, "warmup_steps": 11}})", {"warmup_steps is 11", "which is 10"});
    row("beta1", R"({"training": {"beta1": 1}})", {"training.beta1 is 1"});
    row("epsilon", R"({"training": {"epsilon": 0}})", {"training.epsilon is 0"});
    row("decay of everything", R"({"training": {"learning_rate": 1, "weight_decay": 2}})", {"must stay below 1"});
    row("bad steps", R"({"training": {"max_bad_steps": 0}})", {"training.max_bad_steps is 0"});
    row("threads", R"({"training": {"threads": -2}})", {"training.threads is -2"});
    row("device", R"({"training": {"device": "gpu"}})", {"training.device is 'gpu'", "cuda:N"});
    row("device without index", R"({"training": {"device": "cuda:"}})", {"'cuda:'"});
    row("device with a tail", R"({"training": {"device": "cuda:1x"}})", {"'cuda:1x'"});
    row("head chunk", R"({"training": {"head_chunk": 0}})", {"training.head_chunk is 0"});

    row("limit", R"({"memory": {"vram_limit": "lots"}})", {"memory.vram_limit", "'lots'", "24GiB"});
    row("negative limit", R"({"memory": {"ram_limit": -1}})", {"memory.ram_limit is -1"});
    row("nvme", R"({"memory": {"nvme": {"directories": "ssd"}}})", {"memory.nvme.directories", "list of folders"});
    row("nvme folder", R"({"memory": {"nvme": {"directories": [1]}}})", {"memory.nvme.directories", "no path"});
    row("nvme key", R"({"memory": {"nvme": {"dirs": []}}})", {"memory.nvme.dirs"});
    row("placement", R"({"memory": {"placement": "gpu"}})", {"auto, ram, weights, vram"});
    row("keep none", R"({"checkpoint": {"keep": 0}})", {"checkpoint.keep is 0"});
    row("minutes", R"({"checkpoint": {"every_minutes": -3}})", {"checkpoint.every_minutes is -3"});
    row("best of nothing", R"({"data": {"validation_fraction": 0}, "checkpoint": {"keep_best": true}})",
        {"checkpoint.keep_best needs validation data"});
    row("evaluation of nothing", R"({"data": {"validation_fraction": 0}, "evaluation": {"every": 5}})",
        {"evaluation.every needs validation data"});
    row("early stop", R"({"evaluation": {"early_stop": 3}})", {"evaluation.early_stop", "evaluation.every"});
    row("samples of nothing", R"({"samples": {"every": 5}})", {"samples.every", "samples.prompts is empty"});
    row("prompt is a number", R"({"samples": {"prompts": ["a", 1]}})", {"samples.prompts holds number"});
    row("prompts is an object", R"({"samples": {"prompts": {}}})", {"samples.prompts is object"});
    row("temperature", R"({"samples": {"temperature": -1}})", {"samples.temperature is -1"});
    row("top_p", R"({"samples": {"top_p": 0}})", {"samples.top_p is 0"});
    row("top_k", R"({"samples": {"top_k": -5}})", {"samples.top_k is -5"});
    row("no tokens", R"({"samples": {"tokens": 0}})", {"samples.tokens is 0"});
  }
  void refused() {
    QFETCH(QString, patch);
    QFETCH(QStringList, parts);
    const auto project = read(changed(qPrintable(patch)));
    QVERIFY2(!project.has_value(), "accepted");
    QVERIFY(project.error().kind == ErrorKind::BadInput);
    const QString message = QString::fromStdString(project.error().message);
    QVERIFY2(message.startsWith("p.json: "), qPrintable(message));
    for (const QString& part : parts) QVERIFY2(message.contains(part), qPrintable(message));
  }

  void notAnObject() {
    for (const char* text : {"[]", "3", "null", "\"x\""}) {
      const auto project = read(*parseJson(text, "x"));
      QVERIFY(!project && project.error().message.find("expected a project") != std::string::npos);
    }
  }

  void files() {
    QTemporaryDir folder;
    const Path path = Path(folder.path().toStdString()) / "my run.json";
    LocalFileSystem files;
    const auto missing = readProject(files, path);
    QVERIFY(!missing && missing.error().kind == ErrorKind::BadInput);
    QVERIFY(missing.error().message.find("my run.json") != std::string::npos);

    QVERIFY(writeTextFile(files, path, smallest().dump(1)).has_value());
    const auto project = readProject(files, path, {"training.steps=5", "data.validation_fraction=0.2"});
    QVERIFY2(project.has_value(), project ? "" : project.error().message.c_str());
    QCOMPARE(project->name, std::string("my run"));
    QCOMPARE(project->training.length.amount, 5.0);
    QCOMPARE(project->data.validationFraction, 0.2);
    QCOMPARE(std::get<ModelFolder>(project->model).folder, path.parent_path() / "models/tiny");

    const Path copy = path.parent_path() / "copy.json";
    QVERIFY(writeProject(files, copy, *project).has_value());
    QVERIFY(*readProject(files, copy) == *project);

    QVERIFY(writeTextFile(files, path, smallest().dump(1).substr(0, 40)).has_value());
    const auto cut = readProject(files, path);
    QVERIFY(!cut && cut.error().message.find("byte 4") != std::string::npos);
    QVERIFY(writeTextFile(files, path, "[1]").has_value());
    QVERIFY(!readProject(files, path, {"training.steps=5"}));
  }

  void quickstart() {
    LocalFileSystem files;
    const auto project = readProject(files, Path(MILLRACE_SOURCE_DIR) / "projects/quickstart.json");
    QVERIFY2(project.has_value(), project ? "" : project.error().message.c_str());
    QVERIFY(!project->samples.prompts.empty());
    QVERIFY(project->memory.vramLimit > 0);
  }
};

QTEST_GUILESS_MAIN(TestProjectFile)
#include "test_project_file.moc"
