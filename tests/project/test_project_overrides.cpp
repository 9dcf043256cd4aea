// Changes to a project from the command line.
#include "project/overrides.h"

#include <QtTest>

using namespace millrace;

namespace {

Json project() {
  return *parseJson(R"({"name": "p", "model": {"folder": "m"}, "tokenizer": {"file": "t"},
                        "data": {"sources": [{"path": "a"}, {"path": ["b", "c"]}]},
                        "training": {"steps": 10, "tokens_per_step": 512}})",
                    "project");
}

} // namespace

class TestProjectOverrides : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void apply_data() {
    QTest::addColumn<QStringList>("overrides");
    QTest::addColumn<QString>("patch"); // RFC 7386, of the project above
    QTest::newRow("none") << QStringList{} << "{}";
    QTest::newRow("number") << QStringList{"training.steps=20"} << R"({"training": {"steps": 20}})";
    QTest::newRow("text") << QStringList{"name=big run"} << R"({"name": "big run"})";
    QTest::newRow("quoted text") << QStringList{"name=\"20\""} << R"({"name": "20"})";
    QTest::newRow("empty text") << QStringList{"name="} << R"({"name": ""})";
    QTest::newRow("value with =") << QStringList{"name=a=b"} << R"({"name": "a=b"})";
    QTest::newRow("size") << QStringList{"memory.vram_limit=24MiB"} << R"({"memory": {"vram_limit": "24MiB"}})";
    QTest::newRow("boolean") << QStringList{"training.overlap=false"} << R"({"training": {"overlap": false}})";
    QTest::newRow("new object") << QStringList{"checkpoint.keep=3"} << R"({"checkpoint": {"keep": 3}})";
    QTest::newRow("list") << QStringList{"samples.prompts=[\"a\", \"b\"]"} << R"({"samples": {"prompts": ["a", "b"]}})";
    QTest::newRow("into a list") << QStringList{"data.sources.0.path=z", "data.sources.1.path.1=y"}
                                 << R"({"data": {"sources": [{"path": "z"}, {"path": ["b", "y"]}]}})";
    QTest::newRow("remove") << QStringList{"tokenizer=null"} << R"({"tokenizer": null})";
    QTest::newRow("remove what is not there") << QStringList{"memory.ram_limit=null"} << R"({"memory": {}})";
    QTest::newRow("last one holds") << QStringList{"training.steps=1", "training.steps=2"}
                                    << R"({"training": {"steps": 2}})";
    QTest::newRow("another length") << QStringList{"training.hours=2"}
                                    << R"({"training": {"steps": null, "hours": 2}})";
    QTest::newRow("another batch") << QStringList{"training.micro_batches=2"}
                                   << R"({"training": {"tokens_per_step": null, "micro_batches": 2}})";
    QTest::newRow("another model") << QStringList{"model.config=c.json"}
                                   << R"({"model": {"folder": null, "config": "c.json"}})";
    QTest::newRow("another model, built up")
        << QStringList{"model.config.hidden_size=64", "model.config.num_hidden_layers=2"}
        << R"({"model": {"folder": null, "config": {"hidden_size": 64, "num_hidden_layers": 2}}})";
    QTest::newRow("another tokenizer") << QStringList{"tokenizer.train.vocabulary=300"}
                                       << R"({"tokenizer": {"file": null, "train": {"vocabulary": 300}}})";
    QTest::newRow("two lengths stay for the reader to refuse")
        << QStringList{"training.hours=2", "training.epochs=1"}
        << R"({"training": {"steps": null, "hours": 2, "epochs": 1}})";
  }
  void apply() {
    QFETCH(QStringList, overrides);
    QFETCH(QString, patch);
    Json actual = project(), expected = project();
    std::vector<std::string> list;
    for (const QString& override : overrides) list.push_back(override.toStdString());
    const Status status = applyOverrides(actual, list);
    QVERIFY2(status.has_value(), status ? "" : status.error().message.c_str());
    expected.merge_patch(*parseJson(patch.toStdString(), "patch"));
    // The order of keys is of no importance.
    QCOMPARE(nlohmann::json(actual).dump(1), nlohmann::json(expected).dump(1));
  }

  void refused_data() {
    QTest::addColumn<QString>("override");
    QTest::addColumn<QString>("part");
    QTest::newRow("no value") << "training.steps"
                              << "expected key=value";
    QTest::newRow("no key") << "=3"
                            << "expected key=value";
    QTest::newRow("empty part") << "training..steps=3"
                                << "empty part";
    QTest::newRow("through a number") << "training.steps.x=3"
                                      << "training.steps is number";
    QTest::newRow("through a text") << "name.first=a"
                                    << "name is string";
    QTest::newRow("index outside") << "data.sources.2.path=a"
                                   << "no index of data.sources, which has 2";
    QTest::newRow("no index") << "data.sources.first=a"
                              << "'first' is no index";
    QTest::newRow("broken list") << "samples.prompts=[\"a\""
                                 << "not valid JSON";
    QTest::newRow("broken object") << "model.config={a}"
                                   << "not valid JSON";
  }
  void refused() {
    QFETCH(QString, override);
    QFETCH(QString, part);
    Json json = project();
    const Status status = applyOverrides(json, {override.toStdString()});
    QVERIFY(!status.has_value());
    QVERIFY(status.error().kind == ErrorKind::BadInput);
    const QString message = QString::fromStdString(status.error().message);
    QVERIFY2(message.contains(part), qPrintable(message));
    QVERIFY2(message.contains("--set " + override.section('=', 0, 0)), qPrintable(message));
  }
};

QTEST_GUILESS_MAIN(TestProjectOverrides)
#include "test_project_overrides.moc"
