// From a model folder to a model folder: import looks, train begins with its weights as they are, export gives them
// back.
#include "app/run_files.h"

using namespace millrace::test;

namespace {

/// Name -> shape, type and bytes of every tensor of a folder with one file.
QMap<QString, QByteArray> tensorsOf(const QString& folder) {
  const QByteArray file = readFile(folder + "/model.safetensors");
  if (file.size() < 8) return {};
  quint64 length = 0;
  std::memcpy(&length, file.constData(), 8);
  const QJsonObject header = QJsonDocument::fromJson(file.mid(8, static_cast<qsizetype>(length))).object();
  QMap<QString, QByteArray> tensors;
  for (const QString& name : header.keys()) {
    if (name == "__metadata__") continue;
    const QJsonObject entry = header[name].toObject();
    const QJsonArray offsets = entry["data_offsets"].toArray();
    const auto begin = static_cast<qsizetype>(offsets[0].toDouble()),
               end = static_cast<qsizetype>(offsets[1].toDouble());
    tensors[name] = QJsonDocument(entry["shape"].toArray()).toJson(QJsonDocument::Compact) +
                    entry["dtype"].toString().toUtf8() +
                    file.mid(8 + static_cast<qsizetype>(length) + begin, end - begin);
  }
  return tensors;
}

QJsonObject jsonOf(const QString& path) {
  return QJsonDocument::fromJson(readFile(path)).object();
}

} // namespace

class TestImportCommand : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  /// A model of a run, with what a published one has beside its tensors.
  void initTestCase() {
    QVERIFY(m_folder.isValid());
    const QString project = writeTinyProject(m_folder.path(), "goose", 4);
    const QString run = m_folder.filePath("run");
    Outcome outcome = runProgram({"train", project, "--run-dir", run});
    QVERIFY2(outcome.code == 0, outcome.error.constData());
    m_model = m_folder.filePath("model");
    outcome = runProgram({"export", run, m_model});
    QVERIFY2(outcome.code == 0, outcome.error.constData());
    writeFile(m_model + "/chat_template.jinja", "{{ messages[0].content }}");
    writeFile(m_model + "/generation_config.json", "{\"temperature\": 0.6}");
    m_grown = copyOfModel("grown");
    QJsonObject tokenizer = jsonOf(m_grown + "/tokenizer.json");
    QJsonArray added = tokenizer["added_tokens"].toArray();
    for (int i = 0; i < 2; ++i)
      added.append(QJsonObject{{"id", 300 + i},
                               {"content", QString("<|side%1|>").arg(i)},
                               {"special", true},
                               {"single_word", false},
                               {"lstrip", false},
                               {"rstrip", false},
                               {"normalized", false}});
    tokenizer["added_tokens"] = added;
    writeFile(m_grown + "/tokenizer.json", QJsonDocument(tokenizer).toJson());
  }

  void tellsWhatTheModelIs() {
    const Outcome outcome = runProgram({"import", m_model, "--json"});
    QVERIFY2(outcome.code == 0, outcome.error.constData());
    const QJsonObject model = outcome.object();
    QCOMPARE(model["family"].toString(), QString("llama"));
    QCOMPARE(model["layers"].toInt(), 3);
    QCOMPARE(model["types"].toArray(), QJsonArray{"F32"});
    QCOMPARE(model["chat_template"].toBool(), true);
    for (const QJsonValue& kind : model["problems"].toObject()) QVERIFY(kind.toArray().isEmpty());
    const Outcome people = runProgram({"import", m_model});
    QCOMPARE(people.code, 0);
    QVERIFY2(people.out.contains("llama") && people.out.contains("with a chat template"), people.out.constData());
  }

  void listsEveryProblem() {
    const QString broken = copyOfModel("broken");
    QJsonObject config = jsonOf(broken + "/config.json");
    config["num_hidden_layers"] = 4;
    config["intermediate_size"] = 65;
    writeFile(broken + "/config.json", QJsonDocument(config).toJson());
    const Outcome outcome = runProgram({"import", broken});
    QCOMPARE(outcome.code, 2);
    QVERIFY2(isOneError(outcome, {broken.toUtf8(), "9 missing", "9 of another shape"}), outcome.error.constData());
    QCOMPARE(outcome.out.count("\n  model.layers.3."), 9);
    QCOMPARE(outcome.out.count(", expected ("), 9);
    const Outcome json = runProgram({"import", broken, "--json"});
    QCOMPARE(json.code, 2);
    QCOMPARE(json.object()["problems"].toObject()["missing"].toArray().size(), 9);
    // Training says the same, before anything else is done.
    const Outcome train =
        runProgram({"train", projectOf(broken, "broken-run", "fp32"), "--run-dir", m_folder.filePath("broken-run")});
    QCOMPARE(train.code, 2);
    QVERIFY2(train.error.contains("missing (9)") && !train.out.contains("tokens to train on"), train.error.constData());
  }

  void foreignFolders_data() {
    QTest::addColumn<QString>("file");
    QTest::addColumn<QByteArray>("word");
    QTest::newRow("adapter") << "adapter_config.json" << QByteArray("merge_and_unload");
    QTest::newRow("gguf") << "tiny.gguf" << QByteArray("GGUF");
    QTest::newRow("nothing") << "notes.txt" << QByteArray("config.json: not found");
  }
  void foreignFolders() {
    QFETCH(QString, file);
    QFETCH(QByteArray, word);
    QTemporaryDir folder;
    writeFile(folder.filePath(file), "{}");
    for (const QStringList& command :
         {QStringList{"import", folder.path()}, {"train", projectOf(folder.path(), "foreign", "fp32")}}) {
      const Outcome outcome = runProgram(command);
      QCOMPARE(outcome.code, 2);
      QVERIFY2(isOneError(outcome, {word}), outcome.error.constData());
    }
  }

  void trainedByNothingItIsTheSame_data() {
    QTest::addColumn<QString>("precision");
    QTest::newRow("fp32") << "fp32";
    QTest::newRow("bf16") << "bf16";
  }
  /// A step at a learning rate of 0 without decay goes through everything that a step does and changes no weight.
  void trainedByNothingItIsTheSame() {
    QFETCH(QString, precision);
    const QString run = m_folder.filePath("same " + precision), out = m_folder.filePath("same out " + precision);
    const Outcome trained = runProgram({"train", projectOf(m_model, "same-" + precision, precision), "--run-dir", run});
    QVERIFY2(trained.code == 0, trained.error.constData());
    const Outcome exported = runProgram({"export", run, out});
    QVERIFY2(exported.code == 0, exported.error.constData());
    const QMap<QString, QByteArray> before = tensorsOf(m_model), after = tensorsOf(out);
    QVERIFY(before.size() > 20);
    QCOMPARE(after.keys(), before.keys());
    for (const QString& name : before.keys()) QVERIFY2(after[name] == before[name], qPrintable(name));
    for (const char* name :
         {"chat_template.jinja", "generation_config.json", "tokenizer.json", "tokenizer_config.json"})
      QCOMPARE(readFile(out + "/" + name), readFile(m_model + "/" + name));
    // The recipe's settings stand in what the run was made of, where the project did not say otherwise.
    const QJsonObject training = jsonOf(run + "/run.json")["project"].toObject()["training"].toObject();
    QCOMPARE(training["recipe"].toString(), QString("fine-tune"));
    QCOMPARE(training["learning_rate"].toDouble(), 0.0);
    QCOMPARE(training["weight_decay"].toDouble(), 0.0);
    QCOMPARE(training["beta2"].toDouble(), 0.999);
    QCOMPARE(training["min_learning_rate_ratio"].toDouble(), 0.0);
  }

  void addedTokensMakeItGrow() {
    const Outcome looked = runProgram({"import", m_grown, "--json"});
    QVERIFY2(looked.code == 0, looked.error.constData());
    QCOMPARE(looked.object()["added_rows"].toInt(), 2);

    const QString run = m_folder.filePath("grown run"), out = m_folder.filePath("grown out");
    const QString project = projectOf(m_grown, "grown-run", "fp32");
    const Outcome planned = runProgram({"plan", project, "--json"});
    QVERIFY2(planned.code == 0, planned.error.constData());
    const Outcome trained = runProgram({"train", project, "--run-dir", run});
    QVERIFY2(trained.code == 0, trained.error.constData());
    QVERIFY(readFile(run + "/log.txt").contains("its embedding grows from 300 to 302 rows"));
    const Outcome exported = runProgram({"export", run, out});
    QVERIFY2(exported.code == 0, exported.error.constData());
    QCOMPARE(jsonOf(out + "/config.json")["vocab_size"].toInt(), 302);
    const QMap<QString, QByteArray> before = tensorsOf(m_grown), after = tensorsOf(out);
    QCOMPARE(after.keys(), before.keys());
    const QString table = "model.embed_tokens.weight";
    for (const QString& name : before.keys())
      if (name != table) QVERIFY2(after[name] == before[name], qPrintable(name));
    constexpr qsizetype rowBytes = 32 * 4;
    const QByteArray all = after[table], old = before[table];
    QVERIFY(all.startsWith("[302,32]F32"));
    const QByteArray rows = all.mid(11);
    QVERIFY(rows.left(300 * rowBytes) == old.mid(11));
    QCOMPARE(rows.size(), 302 * rowBytes);
    for (qsizetype column = 0; column < 32; ++column) {
      double sum = 0;
      const auto at = [&](qsizetype row) {
        float value = 0;
        std::memcpy(&value, rows.constData() + row * rowBytes + column * 4, 4);
        return value;
      };
      for (qsizetype row = 0; row < 300; ++row) sum += static_cast<double>(at(row));
      QCOMPARE(at(300), static_cast<float>(sum / 300));
      QCOMPARE(at(301), at(300));
    }
    QCOMPARE(runProgram({"generate", out, "--prompt", "The <|side1|>", "--tokens", "2"}).code, 0);
  }

  /// The checkpoint of a model that grew is gone on with, though the folder that it came from has fewer rows.
  void aGrownModelIsResumed() {
    const QString run = m_folder.filePath("grown and resumed");
    Child first({"train", projectOf(m_grown, "grown-long", "fp32"), "--run-dir", run, "--set", "training.steps=100000",
                 "--set", "checkpoint.every=5"});
    Child second({"resume", run});
    QString before;
    for (Child* child : {&first, &second}) {
      QVERIFY(child->start());
      QTRY_VERIFY_WITH_TIMEOUT(newestCheckpoint(run) != before, patienceMs);
      child->signal(SIGINT);
      const Outcome outcome = child->wait();
      QVERIFY2(outcome.code == 4, outcome.error.constData());
      before = newestCheckpoint(run);
    }
  }

  void exportsOfAStep() {
    const QString run = m_folder.filePath("run");
    const Outcome refused = runProgram({"export", run, m_folder.filePath("step 3"), "--step", "3"});
    QCOMPARE(refused.code, 2);
    QVERIFY2(isOneError(refused, {"no checkpoint of step 3", "4"}), refused.error.constData());
    const Outcome exported = runProgram({"export", run, m_folder.filePath("step 4"), "--step", "4", "--type", "fp16",
                                         "--shard-size", "1MiB", "--json"});
    QVERIFY2(exported.code == 0, exported.error.constData());
    QCOMPARE(exported.object()["step"].toInt(), 4);
    QVERIFY(readFile(m_folder.filePath("step 4/config.json")).contains("float16"));
  }

  /// A run that saves each step and keeps the newest alone, exported over and over: each export is whole.
  void exportsWhileItTrains() {
    const QString project = writeTinyProject(m_folder.path(), "busy", 100'000), run = m_folder.filePath("busy run");
    Child training({"train", project, "--run-dir", run, "--set", "checkpoint.every=1", "--set", "checkpoint.keep=1",
                    "--set", "training.threads=1"});
    QVERIFY(training.start());
    QTRY_VERIFY_WITH_TIMEOUT(!newestCheckpoint(run).isEmpty(), patienceMs);
    QList<int> steps;
    for (int i = 0; i < 6; ++i) {
      const QString out = m_folder.filePath(QString("busy out %1").arg(i));
      const Outcome exported = runProgram({"export", run, out, "--json"});
      QVERIFY2(exported.code == 0, exported.error.constData());
      QVERIFY(exported.object()["warnings"].toArray().isEmpty());
      steps.append(exported.object()["step"].toInt());
      QVERIFY(runProgram({"import", out}).code == 0);
    }
    QVERIFY(training.process().state() == QProcess::Running);
    training.signal(SIGINT);
    QCOMPARE(training.wait().code, 4);
    QVERIFY(std::is_sorted(steps.begin(), steps.end()) && steps.first() < steps.last());
  }

  void stopTexts() {
    const QStringList generate{"generate", m_model,         "--prompt", "The",   "--tokens",
                               "40",       "--temperature", "0",        "--json"};
    const QString whole = runProgram(generate).object()["text"].toString();
    QVERIFY(whole.size() > 4);
    const QString stop = whole.mid(2, 2);
    const QJsonObject stopped = runProgram(generate + QStringList{"--stop", "unseen", "--stop", stop}).object();
    QCOMPARE(stopped["text"].toString(), whole.left(whole.indexOf(stop)));
    QCOMPARE(stopped["stop"].toString(), QString("stop text"));
  }

 private:
  QString copyOfModel(const QString& name) {
    const QString folder = m_folder.filePath(name);
    QDir().mkpath(folder);
    for (const QString& file : QDir(m_model).entryList(QDir::Files))
      QFile::copy(m_model + "/" + file, folder + "/" + file);
    for (const QString& file : QDir(folder).entryList(QDir::Files))
      QFile::setPermissions(folder + "/" + file, QFile::ReadOwner | QFile::WriteOwner);
    return folder;
  }

  /// One step of fine-tuning that changes nothing.
  QString projectOf(const QString& model, const QString& name, const QString& precision) {
    const QJsonObject project{
        {"format", 1},
        {"name", name},
        {"model", QJsonObject{{"folder", model}}},
        {"data", QJsonObject{{"sources", QJsonObject{{"path", "geese.txt"}, {"separator", "%"}}}, {"cache", "cache"}}},
        {"training", QJsonObject{{"recipe", "fine-tune"},
                                 {"steps", 1},
                                 {"context", 32},
                                 {"micro_batch", 2},
                                 {"learning_rate", 0},
                                 {"threads", 2},
                                 {"precision", precision}}},
        {"memory", QJsonObject{{"vram_limit", "4MiB"}, {"ram_limit", "64MiB"}}}};
    const QString path = m_folder.filePath(name + ".json");
    writeFile(path, QJsonDocument(project).toJson());
    return path;
  }

  QTemporaryDir m_folder;
  QString m_model;
  QString m_grown; ///< the same with two tokens more in its tokenizer
};

QTEST_GUILESS_MAIN(TestImportCommand)
#include "test_import_command.moc"
