// A model in memory: loading with progress, text as it comes, stopping, letting go; and what goes wrong.
#include "bridge/text.h"
#include "bridge/text_model.h"
#include "support/model_folder.h"

#include <QSignalSpy>
#include <QTemporaryDir>
#include <QThreadPool>
#include <QtTest>

using namespace millrace;
using namespace millrace::test;
using namespace millrace::ui;

namespace {

#define TRY(condition) QTRY_VERIFY_WITH_TIMEOUT(condition, 60'000)

using State = TextModel::State;

/// What a model has said of its text.
struct Heard {
  explicit Heard(TextModel& model) {
    QObject::connect(&model, &TextModel::textCame, &model, [this](const QString& piece, qint64 count) {
      text += piece;
      tokens = count;
      ++pieces;
    });
    QObject::connect(&model, &TextModel::finished, &model, [this](const GeneratedText& all) { finished = all; });
    QObject::connect(&model, &TextModel::failed, &model, [this](const QString& message) { problem = message; });
    QObject::connect(&model, &TextModel::loadFailed, &model, [this](const QString& message, bool given) {
      problem = message;
      stopped = given;
    });
  }
  QString text, problem;
  qint64 tokens = 0;
  int pieces = 0;
  bool stopped = false;
  std::optional<GeneratedText> finished;
};

} // namespace

class TestTextModel : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() {
    Json config = smallConfig("llama");
    config["max_position_embeddings"] = 4096;
    writeModelFolder(m_files, at("model"), config);
    writeModelFolder(m_files, at("mute"), config, "");
    writeModelFolder(m_files, at("templated"), config);
    valueOrThrow(
        writeTextFile(m_files, at("templated") / "chat_template.jinja",
                      "{% for message in messages %}[{{ message.role }}] {{ message.content }}\n{% endfor %}"));
    Json large = smallConfig("llama");
    large["hidden_size"] = 256;
    large["intermediate_size"] = 1024;
    large["num_hidden_layers"] = 16;
    large["max_position_embeddings"] = 4096;
    writeModelFolder(m_files, at("large"), large);
  }
  void cleanup() { QThreadPool::globalInstance()->waitForDone(); }

  void generatesAsItComes() {
    TextModel model;
    Heard heard(model);
    QVERIFY(model.state() == State::None);
    model.load({at("model")}, options(512));
    QVERIFY(model.state() == State::Loading);
    TRY(model.state() == State::Ready);
    QVERIFY(model.loaded().has_value());
    QCOMPARE(model.loaded()->memory.tokens, std::int64_t{512});
    QVERIFY(model.loaded()->memory.deviceBytes > 0);
    QVERIFY(!model.loaded()->chatProblem.empty()); // it has no template
    model.generate("The mill", {40, 0.8, 0, 1, 7});
    QVERIFY(model.state() == State::Generating);
    TRY(model.state() == State::Ready);
    QVERIFY(heard.finished.has_value());
    QCOMPARE(heard.text, toQt(heard.finished->text));
    QVERIFY(heard.pieces >= 1 && heard.tokens <= heard.finished->tokens);
    // The same as the engine's own.
    auto generator = valueOrThrow(TextGenerator::open(m_files, {at("model")}, options(512)));
    QCOMPARE(heard.finished->text, generator.generate("The mill", {40, 0.8, 0, 1, 7})->text);
  }

  void answers() {
    TextModel model;
    Heard heard(model);
    model.load({at("templated")}, options(512));
    TRY(model.state() == State::Ready);
    QCOMPARE(model.loaded()->chatProblem, std::string());
    const ChatQuestion question{"", {{"system", "Be short."}, {"user", "Who turns the wheel?"}}};
    SamplingOptions sampling{30, 0.8, 0, 1, 7};
    model.answer(question, sampling);
    TRY(model.state() == State::Ready);
    auto generator = valueOrThrow(TextGenerator::open(m_files, {at("templated")}, options(512)));
    sampling.promptIsWhole = true;
    QCOMPARE(heard.finished->text,
             generator.generate("[system] Be short.\n[user] Who turns the wheel?\n", sampling)->text);
    // With a built-in template.
    heard.finished.reset();
    model.answer({"plain", question.messages}, sampling);
    TRY(heard.finished.has_value());
    // What the template refuses is told, and the model goes on.
    model.load({at("model")}, options(512));
    TRY(model.state() == State::Ready);
    model.answer(question, sampling);
    TRY(model.state() == State::Ready);
    QVERIFY2(heard.problem.contains("has no chat template"), qPrintable(heard.problem));
  }

  void stops() {
    TextModel model;
    Heard heard(model);
    model.load({at("large")}, options(4096)); // slow enough
    TRY(model.state() == State::Ready);
    model.generate("The mill", {4000, 0, 0, 1, 1});
    TRY(heard.pieces > 0);
    QVERIFY(model.state() == State::Generating);
    model.stop();
    QVERIFY(model.isStopping());
    TRY(model.state() == State::Ready);
    QVERIFY(heard.finished->stop == StopReason::Stopped);
    QVERIFY(!model.isStopping());
    QCOMPARE(heard.text, toQt(heard.finished->text)); // what has come stays
    heard.finished.reset();
    model.generate("The mill", {5, 0, 0, 1, 1});
    TRY(heard.finished.has_value());
    QVERIFY(heard.finished->stop != StopReason::Stopped);
  }

  void loadingIsToldAndCanBeGivenUp() {
    TextModel model;
    Heard heard(model);
    QSignalSpy progressed(&model, &TextModel::loadProgressed);
    model.load({at("large")}, options(64));
    TRY(model.state() == State::Ready);
    QVERIFY(!progressed.isEmpty());
    QVERIFY(progressed.back()[0].toLongLong() < progressed.back()[1].toLongLong());
    model.load({at("large")}, options(64)); // in place of the one that is there
    QVERIFY(!model.loaded());
    model.stop();
    TRY(model.state() == State::None);
    QVERIFY(heard.stopped);
    model.generate("The mill", {}); // passed over
    QVERIFY(model.state() == State::None);
    model.load({at("model")}, options(64));
    TRY(model.state() == State::Ready);
    model.unload();
    QVERIFY(model.state() == State::None && !model.loaded());
  }

  void whatCannotBeLoadedIsTold_data() {
    QTest::addColumn<QString>("place");
    QTest::addColumn<QString>("words");
    QTest::newRow("nothing") << "nowhere"
                             << "nowhere";
    QTest::newRow("no tokenizer") << "mute"
                                  << "tokenizer";
    QTest::newRow("broken weights") << "broken"
                                    << "model.safetensors";
    QTest::newRow("too large") << "model"
                               << "device";
  }
  void whatCannotBeLoadedIsTold() {
    QFETCH(QString, place);
    QFETCH(QString, words);
    if (place == "broken") {
      writeModelFolder(m_files, at("broken"), smallConfig("llama"));
      valueOrThrow(writeTextFile(m_files, at("broken") / "model.safetensors", "no weights"));
    }
    GenerateOptions how = options(64);
    if (place == "model") how.compute.deviceLimit = 1000;
    TextModel model;
    Heard heard(model);
    model.load({at(place.toLatin1())}, how);
    TRY(model.state() == State::None);
    QVERIFY2(heard.problem.contains(words), qPrintable(heard.problem));
    QVERIFY(!heard.stopped);
  }

  /// The window may close while it works.
  void goingAway() {
    std::unique_ptr<Heard> heard;
    {
      TextModel model;
      heard = std::make_unique<Heard>(model);
      model.load({at("large")}, options(4096));
      TRY(model.state() == State::Ready);
      model.generate("The mill", {4000, 0, 0, 1, 1});
    }
    QThreadPool::globalInstance()->waitForDone(); // the worker has ended
    QCoreApplication::processEvents();
    QVERIFY(!heard->finished);
    TextModel loading;
    loading.load({at("large")}, options(64));
  }

 private:
  Path at(const char* name) const { return Path(m_folder.path().toStdString()) / name; }
  static GenerateOptions options(std::int64_t context) {
    GenerateOptions how;
    how.compute.device = "cpu";
    how.context = context;
    return how;
  }

  LocalFileSystem m_files;
  QTemporaryDir m_folder;
};

QTEST_GUILESS_MAIN(TestTextModel)
#include "test_text_model.moc"
