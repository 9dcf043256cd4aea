// The table of fields says what the readers do: ranges, defaults, and the same keys as the README.
#include "base/json_reader.h"
#include "engine/project_fields.h"
#include "project/project_file.h"

#include <QFile>
#include <QRegularExpression>
#include <QtTest>
#include <cmath>
#include <limits>

using namespace millrace;

namespace {

Json smallest() {
  return *parseJson(R"({
    "format": 1,
    "model": {"folder": "models/tiny"},
    "data": {"sources": {"path": "text.txt"}},
    "training": {"steps": 2000}
  })",
                    "smallest");
}

/// What else must be in the project for all values of a key to go with it.
const char* surroundings(const std::string& key) {
  static const std::map<std::string, const char*> patches = {
      {"tokenizer.file", R"({})"},
      {"tokenizer.train.bytes", R"({"tokenizer": {"train": {"vocabulary": 300}}})"},
      {"data.validation_fraction", R"({})"},
      {"data.sources.text_field", R"({"data": {"sources": {"format": "jsonl"}}})"},
      {"data.sources.separator", R"({"data": {"sources": {"format": "txt"}}})"},
      {"data.sources.sets", R"({"data": {"sources": {"format": "jsonl"}}})"},
      {"model.config", R"({"model": {"folder": null}, "tokenizer": {"file": "t.json"}})"},
      {"training.tokens", R"({"training": {"steps": null}})"},
      {"training.epochs", R"({"training": {"steps": null}})"},
      {"training.hours", R"({"training": {"steps": null}})"},
      {"training.schedule_group", R"({"training": {"micro_batches": 1048576}})"},
      {"training.decay_fraction", R"({"training": {"schedule": "wsd"}})"},
      {"training.warmup_steps", R"({"training": {"steps": 1000000000000}})"},
      {"training.learning_rate", R"({"training": {"weight_decay": 0}})"},
      {"evaluation.early_stop", R"({"evaluation": {"every": 10}})"},
      {"samples.every", R"({"samples": {"prompts": ["a"]}})"},
  };
  const auto found = patches.find(key);
  return found == patches.end() ? "{}" : found->second;
}

Json surrounded(const std::string& key) {
  Json json = smallest();
  json.merge_patch(*parseJson(surroundings(key), "patch"));
  return json;
}

void set(Json& json, const std::string& key, const Json& value) {
  Json* place = &json;
  for (const QString& part : QString::fromStdString(key).split(u'.')) place = &(*place)[part.toStdString()];
  *place = value;
}

Result<Project> with(const std::string& key, const Json& value) {
  Json json = surrounded(key);
  set(json, key, value);
  if (key == "training.tokens_per_step" && value.is_number_integer() && value.get<std::int64_t>() > 2) {
    set(json, "training.micro_batch", 65536);
    set(json, "training.context", 1 << 24);
  } else if (key == "training.tokens_per_step") {
    set(json, "training.micro_batch", 1);
    set(json, "training.context", 2);
  }
  return projectFromJson(json, "p.json", "/base/folder");
}

/// The default as the readers have it: what a project that does not give the key is written with.
Json readersDefault(const std::string& key) {
  const Json written = projectToJson(*projectFromJson(surrounded(key), "p.json", "/base/folder"));
  const Json* place = &written;
  for (const QString& part : QString::fromStdString(key).split(u'.')) {
    if (place->is_array()) place = &place->front();
    if (!place->contains(part.toStdString())) return nullptr;
    place = &(*place)[part.toStdString()];
  }
  return *place;
}

struct ReadmeKey {
  std::string key;
  QString fallback;
};

/// The rows of the README's table of keys; short names belong to the section of the row's first key.
std::vector<ReadmeKey> readmeKeys() {
  QFile file(QStringLiteral(MILLRACE_SOURCE_DIR "/README.md"));
  if (!file.open(QIODevice::ReadOnly)) return {};
  const QString text = QString::fromUtf8(file.readAll());
  const auto begin = text.indexOf(QStringLiteral("| key | default | meaning |"));
  std::vector<ReadmeKey> keys;
  static const QRegularExpression word(QStringLiteral("`([^`]+)`"));
  for (const QString& line : text.mid(begin, text.indexOf(QStringLiteral("\n\n"), begin) - begin).split(u'\n').mid(2)) {
    const QStringList cells = line.split(u'|');
    const QStringList fallbacks = cells[2].split(u',');
    QString section;
    auto names = word.globalMatch(cells[1]);
    for (qsizetype i = 0; names.hasNext(); ++i) {
      const QString name = names.next().captured(1);
      if (i == 0) section = name.left(name.lastIndexOf(u'.') + 1);
      keys.push_back({((i == 0 ? QString() : section) + name).toStdString(), fallbacks.value(i).trimmed()});
    }
  }
  return keys;
}

/// Of a number or a size.
double numberOf(const QString& text) {
  bool isNumber = false;
  const double number = text.toDouble(&isNumber);
  return isNumber ? number : static_cast<double>(parseBytes(text.toStdString()).value_or(-1));
}

} // namespace

class TestProjectFields : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void keys_data() {
    QTest::addColumn<QString>("key");
    for (const ProjectField& field : projectFields())
      QTest::newRow(field.key.c_str()) << QString::fromStdString(field.key);
  }

  void range_data() { keys_data(); }
  void range() {
    QFETCH(QString, key);
    const ProjectField& field = *findProjectField(key.toStdString());
    QVERIFY(!field.meaning.empty() && field.meaning.ends_with('.'));
    std::vector<Json> right, wrong;
    switch (field.kind) {
    case FieldKind::Integer:
    case FieldKind::Size:
      right = {field.least, field.most};
      wrong = {field.least - 1, field.most == INT64_MAX ? Json(std::uint64_t{1} << 63) : Json(field.most + 1), "x"};
      break;
    case FieldKind::Number:
      right = {field.leastNumber, field.mostNumber};
      wrong = {std::nextafter(field.leastNumber, -1e300), std::nextafter(field.mostNumber, 1e300), "x"};
      break;
    case FieldKind::Boolean:
      right = {true, false};
      wrong = {0, "true"};
      break;
    case FieldKind::Choice:
      right.assign(field.words.begin(), field.words.end());
      wrong = {"x", 1};
      break;
    case FieldKind::Text:
      right.assign(field.words.begin(), field.words.end());
      wrong = {1};
      break;
    case FieldKind::File:
    case FieldKind::Folder:
    case FieldKind::Files:
      right = {"a/b"};
      wrong = {"", 1};
      break;
    case FieldKind::Sources:
      right = {"a", Json{{"path", "a"}}, Json::array({"a", Json{{"path", Json::array({"b", "c"})}}})};
      wrong = {1, Json::array()};
      break;
    case FieldKind::Texts:
    case FieldKind::Folders:
      right = {Json::array({"a", "b"})};
      wrong = {Json::array({"a", 1})};
      break;
    }
    for (const Json& value : right) {
      const auto project = with(field.key, value);
      QVERIFY2(project.has_value(), project ? "" : project.error().message.c_str());
    }
    for (const Json& value : wrong) {
      const auto project = with(field.key, value);
      QVERIFY2(!project.has_value(), value.dump().c_str());
      QCOMPARE(project.error().key, field.key);
      QVERIFY2(project.error().message.starts_with("p.json: " + field.key + " "), project.error().message.c_str());
    }
  }

  void fallback_data() { keys_data(); }
  void fallback() {
    QFETCH(QString, key);
    const ProjectField& field = *findProjectField(key.toStdString());
    if (field.fallback.empty()) return;
    const Json fallback = *parseJson(field.fallback, field.key);
    QCOMPARE(QString::fromStdString(readersDefault(field.key).dump()), QString::fromStdString(fallback.dump()));
    QVERIFY(with(field.key, fallback).has_value());
    if (field.kind == FieldKind::Choice)
      QVERIFY(std::count(field.words.begin(), field.words.end(), fallback.get<std::string>()) == 1);
  }

  void readme() {
    std::vector<std::string> inReadme, inTable;
    for (const ReadmeKey& row : readmeKeys()) inReadme.push_back(row.key);
    for (const ProjectField& field : projectFields()) inTable.push_back(field.key);
    // training.tokens, epochs and hours follow steps in both; other order is the README's own.
    std::sort(inReadme.begin(), inReadme.end());
    std::sort(inTable.begin(), inTable.end());
    QCOMPARE(inTable, inReadme);
  }

  void readmeDefaults() {
    int compared = 0;
    for (const ReadmeKey& row : readmeKeys()) {
      const ProjectField& field = *findProjectField(row.key);
      if (field.fallback.empty() || row.fallback.isEmpty()) continue;
      const Json fallback = *parseJson(field.fallback, field.key);
      if (fallback.is_number())
        QVERIFY2(numberOf(row.fallback) == fallback.get<double>(), row.key.c_str());
      else
        QCOMPARE(row.fallback.toStdString(), fallback.is_string() ? fallback.get<std::string>() : fallback.dump());
      ++compared;
    }
    QVERIFY(compared > 40);
  }

  void sections() {
    QCOMPARE(findProjectField("training.seed")->section(), std::string("training"));
    QCOMPARE(findProjectField("memory.nvme.limit")->section(), std::string("memory"));
    QCOMPARE(findProjectField("name")->section(), std::string());
    QVERIFY(!findProjectField("training.seeds"));
  }

  void excluded() {
    QCOMPARE(excludedKeys("training.tokens"),
             (std::vector<std::string>{"training.steps", "training.epochs", "training.hours"}));
    QCOMPARE(excludedKeys("tokenizer.train"), std::vector<std::string>{"tokenizer.file"});
    QVERIFY(excludedKeys("training.seed").empty());
    for (const ProjectField& field : projectFields())
      for (const std::string& other : excludedKeys(field.key)) QVERIFY(excludedKeys(other).size() > 0);
  }

  void errorKeys_data() {
    QTest::addColumn<QString>("patch");
    QTest::addColumn<QString>("key");
    const auto row = [](const char* name, const char* patch, const char* key) {
      QTest::newRow(name) << QString(patch) << QString(key);
    };
    row("unknown key", R"({"trainning": {}})", "trainning");
    row("unknown key inside", R"({"training": {"learning_rat": 1}})", "training.learning_rat");
    row("section is a list", R"({"memory": [1]})", "memory");
    row("no model", R"({"model": null})", "model.folder");
    row("no tokenizer", R"({"model": {"folder": null, "config": "c.json"}})", "tokenizer");
    row("no length", R"({"training": {"steps": null}})", "training.steps");
    row("key of a source", R"({"data": {"sources": [{"path": "a", "format": "csv"}]}})", "data.sources.0.format");
    row("a source", R"({"data": {"sources": ["a", 4]}})", "data.sources.1");
    row("empty source", R"({"data": {"sources": ["a", ""]}})", "data.sources.1");
    row("nvme", R"({"memory": {"nvme": {"directories": [1]}}})", "memory.nvme.directories");
    row("best of nothing", R"({"data": {"validation_fraction": 0}, "checkpoint": {"keep_best": true}})",
        "checkpoint.keep_best");
    row("evaluation of nothing", R"({"data": {"validation_fraction": 0}, "evaluation": {"every": 5}})",
        "evaluation.every");
    row("newer format", R"({"format": 2})", "format");
  }
  void errorKeys() {
    QFETCH(QString, patch);
    Json json = smallest();
    json.merge_patch(*parseJson(patch.toStdString(), "patch"));
    const auto project = parseProject(json.dump(), "p.json", "/base/folder");
    QVERIFY(!project.has_value());
    QTEST(QString::fromStdString(project.error().key), "key");
  }

  void parse() {
    const auto project = parseProject(smallest().dump(), "untitled.json", "/base/folder");
    QVERIFY2(project.has_value(), project ? "" : project.error().message.c_str());
    QCOMPARE(project->name, std::string("untitled"));
    QCOMPARE(std::get<ModelFolder>(project->model).folder, Path("/base/folder/models/tiny"));
    const auto cut = parseProject(R"({"format": 1,)", "untitled.json", "/");
    QVERIFY(!cut && cut.error().key.empty());
    QVERIFY(cut.error().message.starts_with("untitled.json: not valid JSON at byte"));
    const auto list = parseProject("[]", "untitled.json", "/");
    QVERIFY(!list && list.error().key.empty());
  }

  void recipes_data() {
    QTest::addColumn<QString>("training");
    QTest::addColumn<double>("rate");
    QTest::addColumn<double>("decay");
    QTest::addColumn<double>("beta2");
    QTest::addColumn<double>("end");
    const auto row = [](const char* name, const char* training, double rate, double decay, double beta2, double end) {
      QTest::newRow(name) << QString(training) << rate << decay << beta2 << end;
    };
    row("none is pretrain", "{}", 3e-4, 0.1, 0.95, 0.1);
    row("pretrain", R"({"recipe": "pretrain"})", 3e-4, 0.1, 0.95, 0.1);
    row("fine-tune", R"({"recipe": "fine-tune"})", 1e-5, 0, 0.999, 0);
    row("explicit keys win", R"({"recipe": "fine-tune", "learning_rate": 2e-5, "weight_decay": 0.01})", 2e-5, 0.01,
        0.999, 0);
    row("whatever their order", R"({"beta2": 0.98, "min_learning_rate_ratio": 0.2, "recipe": "fine-tune"})", 1e-5, 0,
        0.98, 0.2);
  }
  void recipes() {
    QFETCH(QString, training);
    Json json = smallest();
    json["training"].merge_patch(*parseJson(training.toStdString(), "training"));
    const auto project = projectFromJson(json, "p.json", "/base/folder");
    QVERIFY2(project.has_value(), project ? "" : project.error().message.c_str());
    QTEST(project->training.learningRate, "rate");
    QTEST(project->training.weightDecay, "decay");
    QTEST(project->training.beta2, "beta2");
    QTEST(project->training.minLearningRateRatio, "end");
    // What is written names them all, so that a later version with other recipes goes on with these.
    const Json written = projectToJson(*project);
    QCOMPARE(written["training"]["learning_rate"].get<double>(), project->training.learningRate);
    QVERIFY(*projectFromJson(written, "p.json", "/") == *project);
  }

  void faultByte_data() {
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<int>("byte"); // -1: not known
    QTest::newRow("comma too many") << QByteArray("{\"a\": 1,}") << 8;
    QTest::newRow("no value") << QByteArray("{\"a\": }") << 6;
    QTest::newRow("NUL") << QByteArray("{\"a\0\": 1}", 9) << 3;
    QTest::newRow("twice") << QByteArray("{\"a\": 1, \"a\": 2}") << -1;
    QTest::newRow("valid") << QByteArray("{\"a\": 1}") << -1;
  }
  void faultByte() {
    QFETCH(QByteArray, text);
    std::optional<std::size_t> byte;
    const auto json = parseJson(text.toStdString(), "t", &byte);
    QCOMPARE(json.has_value(), QString(QTest::currentDataTag()) == "valid");
    QTEST(byte ? static_cast<int>(*byte) : -1, "byte");
  }
};

QTEST_GUILESS_MAIN(TestProjectFields)
#include "test_project_fields.moc"
