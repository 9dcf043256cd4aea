// The Playground page, by clicks and keys, with small models of random weights.
#include "bridge/text.h"
#include "playground/playground_page.h"
#include "playground/written_text.h"
#include "style/status_line.h"
#include "support/model_folder.h"

#include <QApplication>
#include <QCheckBox>
#include <QClipboard>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QLineEdit>
#include <QLocale>
#include <QProgressBar>
#include <QPushButton>
#include <QSpinBox>
#include <QTabWidget>
#include <QTemporaryDir>
#include <QThreadPool>
#include <QtTest>
#include <algorithm>
#include <cctype>

using namespace millrace;
using namespace millrace::test;
using namespace millrace::ui;

namespace {

#define TRY(condition) QTRY_VERIFY_WITH_TIMEOUT(condition, 60'000)

std::vector<LiveRun> noRuns() {
  return {};
}

std::vector<ComputeDevice> onlyCpu() {
  return {{"cpu", "Imaginary 9000"}};
}

class Bench {
 public:
  explicit Bench(LiveRunsFunction runs = &noRuns, DevicesFunction devices = &onlyCpu)
      : page(std::move(runs), std::move(devices)) {
    page.resize(1180, 820);
    page.show();
    QApplication::setActiveWindow(&page);
    box("modelContext")->setValue(512);
    page.findChild<QCheckBox*>("newSeed")->setChecked(false);
  }
  ~Bench() { QApplication::sendPostedEvents(); }

  template <class Widget>
  Widget* find(const char* name) {
    return page.findChild<Widget*>(QString::fromLatin1(name));
  }
  QPushButton* button(const char* name) { return find<QPushButton>(name); }
  QSpinBox* box(const char* name) { return find<QSpinBox>(name); }
  QPlainTextEdit* edit(const char* name) { return find<QPlainTextEdit>(name); }
  QString status() { return find<StatusLine>("generationStatus")->text(); }
  StatusLine* modelMessage() { return find<StatusLine>("modelMessage"); }
  void click(const char* name) {
    QVERIFY2(button(name)->isVisible() && button(name)->isEnabled(), name);
    QTest::mouseClick(button(name), Qt::LeftButton);
  }
  void load(const QString& place) {
    find<QComboBox>("modelPlace")->setEditText(place);
    click("modelLoad");
  }
  bool is(TextModel::State state) { return page.model().state() == state; }

  PlaygroundPage page;
};

} // namespace

class TestPlaygroundPage : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() {
    QLocale::setDefault(QLocale(QLocale::English, QLocale::UnitedStates));
    Json config = smallConfig("llama");
    config["max_position_embeddings"] = 4096;
    writeModelFolder(m_files, at("goose"), config);
    config["hidden_size"] = 256;
    config["intermediate_size"] = 1024;
    config["num_hidden_layers"] = 16;
    writeModelFolder(m_files, at("slow"), config);
    config = smallConfig("llama");
    writeRunDirectory(m_files, at("run"));
    for (const std::int64_t step : {10, 20}) saveCheckpoint(m_files, at("run"), step, config);
  }
  void cleanup() { QThreadPool::globalInstance()->waitForDone(); }

  void continuesAText() {
    Bench bench;
    QVERIFY(!bench.button("modelLoad")->isEnabled() && !bench.button("generateButton")->isEnabled());
    QVERIFY(!bench.button("modelStop")->isVisible() && !bench.button("modelUnload")->isVisible());
    bench.load(place("goose"));
    TRY(bench.is(TextModel::State::Ready));
    const QString told = QString(bench.modelMessage()->text()).replace(QChar::Nbsp, u' ');
    QVERIFY2(told.startsWith("goose is loaded: ") && told.contains("MiB of host memory, on the CPU") &&
                 told.contains("room for 512 tokens"),
             qPrintable(told));
    bench.box("mostTokens")->setValue(20);
    bench.edit("prompt")->setPlainText("The mill");
    bench.edit("prompt")->setFocus();
    QTest::keyClick(bench.edit("prompt"), Qt::Key_Return, Qt::ControlModifier);
    TRY(bench.is(TextModel::State::Ready));
    const QString text = bench.edit("writtenText")->toPlainText();
    QVERIFY(text.startsWith("The mill") && text.size() > 8);
    QVERIFY2(bench.status().contains(" tokens/s; prompt of ") || bench.status().startsWith("1 token"),
             qPrintable(bench.status()));
    QCOMPARE(bench.edit("prompt")->toPlainText(), QString("The mill")); // to be tried again
    // The same seed, the same text.
    bench.click("generateButton");
    TRY(bench.is(TextModel::State::Ready));
    QCOMPARE(bench.edit("writtenText")->toPlainText(), text);
    bench.click("copyAnswer");
    QCOMPARE(QApplication::clipboard()->text(), text.mid(8));
    bench.find<QCheckBox>("newSeed")->setChecked(true);
    bench.click("generateButton");
    TRY(bench.is(TextModel::State::Ready));
    QCOMPARE(bench.box("seed")->value(), 2);
    bench.click("generateButton");
    TRY(bench.is(TextModel::State::Ready));
    QVERIFY(bench.edit("writtenText")->toPlainText() != text);
    bench.click("clearText");
    QVERIFY(bench.edit("writtenText")->toPlainText().isEmpty() && bench.edit("prompt")->toPlainText().isEmpty());
    QVERIFY(!bench.button("clearText")->isEnabled() && !bench.button("copyAnswer")->isEnabled());
    bench.click("modelUnload");
    QVERIFY(bench.is(TextModel::State::None));
    QVERIFY(!bench.button("generateButton")->isEnabled());
  }

  /// What is set reaches the engine.
  void samplesAsAsked() {
    Bench bench;
    bench.load(place("goose"));
    TRY(bench.is(TextModel::State::Ready));
    bench.find<QDoubleSpinBox>("temperature")->setValue(1.2);
    bench.box("topK")->setValue(50);
    bench.find<QDoubleSpinBox>("topP")->setValue(0.9);
    bench.box("mostTokens")->setValue(60);
    bench.box("seed")->setValue(5);
    bench.edit("prompt")->setPlainText("The mill");
    SamplingOptions options{60, 1.2, 50, 0.9, 5};
    GenerateOptions how;
    how.context = 512;
    auto generator = valueOrThrow(TextGenerator::open(m_files, {at("goose")}, how));
    const auto expected = generator.generate("The mill", options);
    QVERIFY(expected.has_value());
    bench.click("generateButton");
    TRY(bench.is(TextModel::State::Ready));
    QCOMPARE(bench.edit("writtenText")->toPlainText(), shownText("The mill" + expected->text));
    // Up to a text that ends it.
    const auto letter = std::find_if(expected->text.begin(), expected->text.end(),
                                     [](unsigned char c) { return c < 128 && std::isalnum(c); });
    QVERIFY(letter != expected->text.end());
    const std::string stop(1, *letter);
    bench.edit("stopTexts")->setPlainText("never to be seen\n" + toQt(stop));
    options.stop = {"never to be seen", stop};
    const auto stopped = generator.generate("The mill", options);
    bench.click("generateButton");
    TRY(bench.is(TextModel::State::Ready));
    QCOMPARE(bench.edit("writtenText")->toPlainText(), shownText("The mill" + stopped->text));
    QVERIFY2(bench.status().contains("a stop text ended it"), qPrintable(bench.status()));
  }

  void converses() {
    Bench bench;
    bench.load(place("goose"));
    TRY(bench.is(TextModel::State::Ready));
    bench.find<QTabWidget>("playgroundTabs")->setCurrentIndex(1);
    QCOMPARE(bench.find<QComboBox>("chatTemplate")->currentData().toString(), QString("plain")); // it has none
    QVERIFY(!bench.button("generateButton")->isEnabled());                                       // nothing is said yet
    bench.box("mostTokens")->setValue(15);
    bench.edit("systemMessage")->setPlainText("Be short.");
    auto* message = bench.edit("chatMessage");
    message->setFocus();
    QTest::keyClicks(message, "Who turns");
    QTest::keyClick(message, Qt::Key_Return, Qt::ShiftModifier);
    QTest::keyClicks(message, "the wheel?");
    QCOMPARE(message->toPlainText(), QString("Who turns\nthe wheel?"));
    QTest::keyClick(message, Qt::Key_Return);
    QVERIFY(bench.is(TextModel::State::Generating));
    QVERIFY(message->toPlainText().isEmpty());
    TRY(bench.is(TextModel::State::Ready));
    const QString first = bench.edit("conversation")->toPlainText();
    QVERIFY2(first.startsWith("You\nWho turns\nthe wheel?\n\nModel\n"), qPrintable(first));
    QVERIFY(message->hasFocus());
    QTest::keyClicks(message, "Really?");
    QTest::keyClick(message, Qt::Key_Return);
    TRY(bench.is(TextModel::State::Ready));
    QVERIFY(bench.edit("conversation")->toPlainText().startsWith(first + "\n\nYou\nReally?\n\nModel\n"));
    // By the button: the focus comes back to where the next message is typed.
    QTest::keyClicks(message, "Truly?");
    bench.button("generateButton")->setFocus();
    QTest::keyClick(bench.button("generateButton"), Qt::Key_Space);
    QVERIFY(bench.button("stopGenerating")->hasFocus());
    TRY(bench.is(TextModel::State::Ready));
    QVERIFY(message->hasFocus());
    // A template that the model does not have: the message is there to be sent again, and the reason is told.
    bench.find<QComboBox>("chatTemplate")->setCurrentIndex(0);
    QTest::keyClicks(message, "And now?");
    QTest::keyClick(message, Qt::Key_Return);
    TRY(bench.is(TextModel::State::Ready));
    QVERIFY2(bench.status().contains("has no chat template"), qPrintable(bench.status()));
    QCOMPARE(message->toPlainText(), QString("And now?"));
    bench.click("clearText");
    QVERIFY(bench.edit("conversation")->toPlainText().isEmpty());
    QCOMPARE(bench.edit("systemMessage")->toPlainText(), QString("Be short."));
  }

  void stopsByEscapeAndKeepsWhatCame() {
    Bench bench;
    bench.box("modelContext")->setValue(4096);
    bench.load(place("slow"));
    TRY(bench.is(TextModel::State::Ready));
    bench.find<QDoubleSpinBox>("temperature")->setValue(0);
    bench.box("mostTokens")->setValue(4000);
    bench.edit("prompt")->setPlainText("The");
    bench.button("generateButton")->setFocus();
    QTest::keyClick(bench.button("generateButton"), Qt::Key_Space);
    QVERIFY(bench.button("stopGenerating")->hasFocus()); // it takes the place of what was pressed
    TRY(bench.edit("writtenText")->toPlainText().size() > 3);
    QVERIFY(bench.is(TextModel::State::Generating));
    bench.edit("prompt")->setFocus();
    QTest::keyClick(bench.edit("prompt"), Qt::Key_Escape);
    TRY(bench.is(TextModel::State::Ready));
    QVERIFY2(bench.status().endsWith("stopped"), qPrintable(bench.status()));
    QVERIFY(bench.edit("writtenText")->toPlainText().size() > 3);
    QVERIFY(!bench.button("stopGenerating")->isEnabled() && bench.button("copyAnswer")->isEnabled());
  }

  void checkpointsOfARunAreChosen() {
    Bench bench;
    bench.page.setPlaces({place("run"), place("goose")});
    auto* checkpoint = bench.find<QComboBox>("modelCheckpoint");
    TRY(checkpoint->count() == 4); // newest, best, two steps
    QVERIFY(checkpoint->isEnabled());
    bench.click("modelLoad");
    TRY(bench.is(TextModel::State::Ready));
    QVERIFY2(bench.modelMessage()->text().startsWith("Step 20 is loaded"), qPrintable(bench.modelMessage()->text()));
    checkpoint->setCurrentIndex(checkpoint->findText("Step 10"));
    bench.click("modelLoad");
    TRY(bench.is(TextModel::State::Ready));
    QVERIFY(bench.modelMessage()->text().startsWith("Step 10 is loaded"));
    // Of a model folder there is nothing to choose.
    bench.find<QComboBox>("modelPlace")->setEditText(place("goose"));
    TRY(checkpoint->count() == 2);
    QVERIFY(!checkpoint->isEnabled());
  }

  void whatIsNoModelIsTold() {
    Bench bench;
    bench.load(m_folder.path());
    TRY(bench.is(TextModel::State::None));
    QVERIFY(bench.modelMessage()->status() == StatusKind::Bad);
    QVERIFY2(bench.modelMessage()->text().contains("run.json"), qPrintable(bench.modelMessage()->text()));
    QVERIFY(bench.button("modelLoad")->isVisible() && bench.button("modelLoad")->isEnabled());
    bench.box("modelContext")->setValue(8); // no room for the prompt
    bench.load(place("goose"));
    TRY(bench.is(TextModel::State::Ready));
    bench.edit("prompt")->setPlainText(QString("water ").repeated(20));
    bench.click("generateButton");
    TRY(bench.is(TextModel::State::Ready));
    QVERIFY2(bench.status().contains("8 fit"), qPrintable(bench.status()));
    QVERIFY(bench.find<StatusLine>("generationStatus")->status() == StatusKind::Bad);
  }

  /// Before anything is loaded.
  void runsOnTheSameDeviceAreTold() {
    const auto both = [] { return std::vector<LiveRun>{{"goose", "/goose", false}, {"swan", "/swan", true}}; };
    Bench cpu(both);
    auto* told = cpu.find<StatusLine>("modelLiveRuns");
    TRY(told->isVisible() && told->text().contains("on the CPU now: goose."));
    const auto gpus = [] { return std::vector<ComputeDevice>{{"cpu", "a"}, {"cuda:0", "NVIDIA H200"}}; };
    Bench gpu(both, gpus);
    told = gpu.find<StatusLine>("modelLiveRuns");
    auto* device = gpu.find<QComboBox>("modelDevice");
    TRY(device->count() == 3);
    TRY(told->isVisible() && told->text().contains("on a GPU now: swan."));
    device->setCurrentIndex(device->findData("cpu"));
    QVERIFY(told->text().contains("on the CPU now: goose."));
    Bench none;
    none.page.hide();
    none.page.show();
    QTest::qWait(50);
    QVERIFY(!none.find<StatusLine>("modelLiveRuns")->isVisible());
  }

 private:
  Path at(const char* name) const { return Path(m_folder.path().toStdString()) / name; }
  QString place(const char* name) const { return m_folder.filePath(QString::fromLatin1(name)); }
  /// As a text field holds it.
  static QString shownText(const std::string& text) {
    QPlainTextEdit edit;
    edit.setPlainText(toQt(text));
    return edit.toPlainText();
  }

  LocalFileSystem m_files;
  QTemporaryDir m_folder;
};

QTEST_MAIN(TestPlaygroundPage)
#include "test_playground_page.moc"
