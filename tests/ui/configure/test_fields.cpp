// Every kind of editor, with real keys and clicks: what it writes into the project's text, and what it shows of it.
#include "configure/field_labels.h"
#include "configure/list_editor.h"
#include "configure/number_spin_box.h"
#include "engine/model_presets.h"
#include "page_fixture.h"

#include <QCheckBox>
#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QPlainTextEdit>
#include <QToolButton>

using namespace millrace;
using namespace millrace::ui;

namespace {

void type(QWidget& edit, const QString& text) {
  QTest::keyClick(&edit, Qt::Key_A, Qt::ControlModifier);
  QTest::keyClick(&edit, Qt::Key_Delete);
  QTest::keyClicks(&edit, text);
}

void click(QAbstractButton& button) {
  QTest::mouseClick(&button, Qt::LeftButton);
}

/// As a person does with the keyboard.
void choose(QComboBox& box, const QString& text) {
  const int index = box.findText(text);
  QVERIFY2(index >= 0, qPrintable(text));
  QTest::keyClick(&box, Qt::Key_Home);
  for (int i = 0; i < index; ++i) QTest::keyClick(&box, Qt::Key_Down);
  QCOMPARE(box.currentText(), text);
}

} // namespace

class TestFields : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void everyFieldHasARowAndALabel() {
    PageFixture fixture;
    for (const ProjectField& field : projectFields()) {
      if (field.key == "format") continue;
      QVERIFY2(fixture.form().rowOf(toQt(field.key)), field.key.c_str());
      QVERIFY2(fieldLabel(field.key) != toQt(field.key), field.key.c_str());
      QVERIFY(fieldHelp(field).contains(toQt(field.key)));
    }
    QVERIFY(!fixture.form().rowOf("nothing"));
  }

  void everyRowHasABuddyAndAName() {
    PageFixture fixture;
    for (FieldRow* row : fixture.form().findChildren<FieldRow*>()) {
      auto* label = row->findChild<QLabel*>(QString(), Qt::FindDirectChildrenOnly);
      QVERIFY(label && label->buddy() == &row->editor());
      QWidget* target = &row->editor();
      while (target->focusProxy()) target = target->focusProxy();
      QVERIFY2(target->focusPolicy() != Qt::NoFocus, qPrintable(row->label()));
      QVERIFY2(!target->accessibleName().isEmpty(), qPrintable(row->label()));
      QVERIFY2(!row->editor().toolTip().isEmpty(), qPrintable(row->label()));
    }
  }

  void typing_data() {
    QTest::addColumn<QByteArray>("key");
    QTest::addColumn<QString>("typed");
    QTest::addColumn<QString>("value"); // JSON; empty: the key is gone
    const auto row = [](const char* name, const char* key, const char* typed, const char* value) {
      QTest::newRow(name) << QByteArray(key) << QString(typed) << QString(value);
    };
    row("integer", "training.context", "256", "256");
    row("integer with groups", "training.context", "65,536", "65536");
    row("integer in short", "training.context", "1e4", "10000");
    row("large integer", "training.seed", "9007199254740993", "9007199254740993");
    row("half an integer", "training.context", "1.5", "1.5");
    row("no number", "training.context", "1e", "\"1e\"");
    row("letters are not taken", "training.context", "x2y", "2");
    row("integer emptied", "training.context", "", "");
    row("number", "training.learning_rate", "3e-4", "0.0003");
    row("small number", "training.epsilon", "1e-9", "1e-09");
    row("number out of range", "training.learning_rate", "11", "11");
    row("size", "memory.ram_limit", "24GiB", "\"24GiB\"");
    row("size in bytes", "memory.vram_limit", "1073741824", "1073741824");
    row("size that is none", "memory.vram_limit", "lots", "\"lots\"");
    row("size emptied", "memory.vram_limit", "", "");
    row("text", "name", "a \"b\"", "\"a \\\"b\\\"\"");
    row("text emptied", "name", "", "");
    row("path", "data.cache", "my cache", "\"my cache\"");
    row("text with suggestions", "training.device", "cuda:3", "\"cuda:3\"");
  }
  void typing() {
    QFETCH(QByteArray, key);
    QFETCH(QString, typed);
    PageFixture fixture;
    auto& edit = fixture.widget<QLineEdit>(key);
    type(edit, typed);
    QTEST(fixture.value(key), "value");
  }

  void stepping_data() {
    QTest::addColumn<QByteArray>("key");
    QTest::addColumn<QString>("from");
    QTest::addColumn<int>("steps");
    QTest::addColumn<QString>("value");
    const auto row = [](const char* name, const char* key, const char* from, int steps, const char* value) {
      QTest::newRow(name) << QByteArray(key) << QString(from) << steps << QString(value);
    };
    row("tokens double", "training.context", "128", 2, "512");
    row("tokens halve", "training.context", "128", -1, "64");
    row("not below the least", "training.context", "3", -4, "2");
    row("not above the most", "training.context", "16000000", 3, "16777216");
    row("counts by one", "training.micro_batch", "4", 1, "5");
    row("large counts by more", "checkpoint.every", "1000", 1, "1100");
    row("and back", "checkpoint.every", "1000", -1, "990");
    row("rates by a tenth", "training.learning_rate", "0.002", 1, "0.0021");
    row("rates over a power of ten", "training.learning_rate", "0.001", -1, "0.00099");
    row("from the default", "training.slots", "", 1, "3");
    row("largest integer", "training.seed", "9223372036854775806", 5, "9223372036854775807");
  }
  void stepping() {
    QFETCH(QByteArray, key);
    QFETCH(QString, from);
    QFETCH(int, steps);
    PageFixture fixture;
    auto& box = fixture.widget<NumberSpinBox>(key);
    type(*box.findChild<QLineEdit*>(), from);
    for (int i = 0; i < std::abs(steps); ++i) QTest::keyClick(&box, steps > 0 ? Qt::Key_Up : Qt::Key_Down);
    QTEST(fixture.value(key), "value");
  }

  void choices() {
    PageFixture fixture;
    auto& box = fixture.widget<QComboBox>("training.schedule");
    QCOMPARE(box.currentIndex(), -1);
    QCOMPARE(box.placeholderText(), QString("cosine"));
    choose(box, "wsd");
    QCOMPARE(fixture.value("training.schedule"), QString("\"wsd\""));
    fixture.document.setValue("training.schedule", "linear");
    QCOMPARE(box.currentText(), QString("linear"));
    fixture.document.setValue("training.schedule", "zigzag");
    QCOMPARE(box.placeholderText(), QString("zigzag"));
  }

  void switches() {
    PageFixture fixture;
    auto& box = fixture.widget<QCheckBox>("checkpoint.keep_best");
    QVERIFY(box.isChecked() && box.text().contains("default"));
    QTest::keyClick(&box, Qt::Key_Space);
    QCOMPARE(fixture.value("checkpoint.keep_best"), QString("false"));
    QVERIFY(!box.isChecked());
  }

  void sizesAreExplained() {
    PageFixture fixture;
    QStringList texts;
    for (QLabel* label : fixture.row("memory.vram_limit").editor().findChildren<QLabel*>()) texts << label->text();
    QVERIFY2(texts.contains("52,428,800 bytes"), qPrintable(texts.join(", ")));
  }

  void defaultsAreShownAndComeBack() {
    PageFixture fixture;
    auto& row = fixture.row("training.micro_batch");
    auto* reset = row.findChild<QToolButton*>();
    QVERIFY(!reset->isHidden());
    QTest::mouseClick(reset, Qt::LeftButton);
    QCOMPARE(fixture.value("training.micro_batch"), QString());
    auto& edit = fixture.widget<QLineEdit>("training.micro_batch");
    QVERIFY(edit.text().isEmpty());
    QCOMPARE(edit.placeholderText(), QString("8"));
    QVERIFY(reset->isHidden());
    QVERIFY(fixture.row("training.seed").findChild<QToolButton*>()->isHidden());
    QCOMPARE(fixture.text(), changedSample(",\n    \"micro_batch\": 4", ""));
  }

  void browsing() {
    PageFixture fixture;
    fixture.chosen = {fixture.folder.filePath("cache/tokens")};
    click(fixture.button("data.cache", "&Browse..."));
    QCOMPARE(fixture.value("data.cache"), QString("\"cache/tokens\"")); // inside the project's folder
    QVERIFY(fixture.requests.back().kind == PathRequest::Kind::Folder);
    fixture.chosen = {"/elsewhere/tokens"};
    click(fixture.button("data.cache", "&Browse..."));
    QCOMPARE(fixture.value("data.cache"), QString("\"/elsewhere/tokens\""));
    fixture.chosen.clear(); // given up
    click(fixture.button("data.cache", "&Browse..."));
    QCOMPARE(fixture.value("data.cache"), QString("\"/elsewhere/tokens\""));
  }

  void prompts() {
    PageFixture fixture;
    auto& list = fixture.widget<QListWidget>("samples.prompts");
    auto& text = fixture.widget<QPlainTextEdit>("samples.prompts");
    QCOMPARE(list.count(), 2);
    QCOMPARE(text.toPlainText(), QString("Once"));
    click(fixture.button("samples.prompts", "A&dd..."));
    QCOMPARE(fixture.value("samples.prompts"), QString(R"(["Once","A man",""])"));
    QTest::keyClicks(&text, "Two");
    QTest::keyClick(&text, Qt::Key_Return);
    QTest::keyClicks(&text, "lines");
    QCOMPARE(fixture.value("samples.prompts"), QString(R"(["Once","A man","Two\nlines"])"));
    click(fixture.button("samples.prompts", "&Up"));
    QCOMPARE(fixture.value("samples.prompts"), QString(R"(["Once","Two\nlines","A man"])"));
    click(fixture.button("samples.prompts", "Dow&n"));
    QCOMPARE(list.currentRow(), 2);
    list.setCurrentRow(0);
    QTest::keyClick(&list, Qt::Key_Delete);
    QCOMPARE(fixture.value("samples.prompts"), QString(R"(["A man","Two\nlines"])"));
    click(fixture.button("samples.prompts", "Re&move"));
    click(fixture.button("samples.prompts", "Re&move"));
    QCOMPARE(fixture.value("samples.prompts"), QString());
    QVERIFY(!fixture.button("samples.prompts", "Re&move").isEnabled() && !text.isEnabled());
  }

  void folders() {
    PageFixture fixture;
    fixture.chosen = {"/mnt/ssd"};
    click(fixture.button("memory.nvme.directories", "A&dd..."));
    QCOMPARE(fixture.value("memory.nvme.directories"), QString(R"(["/mnt/ssd"])"));
    auto& list = fixture.widget<QListWidget>("memory.nvme.directories");
    list.editItem(list.item(0));
    type(*list.findChild<QLineEdit*>(), "/mnt/other");
    QTest::keyClick(list.findChild<QLineEdit*>(), Qt::Key_Return);
    QTRY_COMPARE(fixture.value("memory.nvme.directories"), QString(R"(["/mnt/other"])"));
  }

  void sources() {
    PageFixture fixture;
    auto& list = fixture.widget<QListWidget>("data.sources");
    QCOMPARE(list.count(), 2);
    fixture.chosen = {fixture.folder.filePath("c.txt")};
    click(fixture.button("data.sources", "A&dd..."));
    QCOMPARE(fixture.text(), changedSample(R"("b.txt"])", R"("b.txt", "c.txt"])"));
    click(fixture.button("data.sources", "&Up"));
    QCOMPARE(fixture.value("data.sources.path"), QString(R"(["a.txt","c.txt","b.txt"])"));

    QLineEdit* separator = nullptr;
    for (QLineEdit* edit : fixture.row("data.sources").editor().findChildren<QLineEdit*>())
      if (edit->text() == "%") separator = edit;
    QVERIFY(separator);
    type(*separator, "--");
    QCOMPARE(fixture.value("data.sources.separator"), QString("\"--\""));
    type(*separator, "");
    QCOMPARE(fixture.value("data.sources"), QString(R"({"path":["a.txt","c.txt","b.txt"]})"));

    fixture.chosen = {fixture.folder.filePath("mails.jsonl")};
    click(fixture.button("data.sources", "Add another sour&ce..."));
    QCOMPARE(fixture.value("data.sources"), QString(R"([{"path":["a.txt","c.txt","b.txt"]},"mails.jsonl"])"));
    QCOMPARE(list.count(), 1);
    for (QComboBox* box : fixture.row("data.sources").editor().findChildren<QComboBox*>())
      if (box->findText("jsonl") >= 0) choose(*box, "jsonl");
    QCOMPARE(fixture.value("data.sources.1"), QString(R"({"path":"mails.jsonl","format":"jsonl"})"));
    QVERIFY(!separator->isVisibleTo(&fixture.row("data.sources"))); // which JSON lines have not
    click(fixture.button("data.sources", "R&emove this source"));
    QCOMPARE(fixture.value("data.sources"), QString(R"([{"path":["a.txt","c.txt","b.txt"]}])"));
  }

  void firstSource() {
    PageFixture fixture("{\n  \"format\": 1\n}");
    fixture.chosen = {fixture.folder.filePath("a.txt")};
    click(fixture.button("data.sources", "A&dd..."));
    QCOMPARE(fixture.value("data.sources"), QString("\"a.txt\""));
    click(fixture.button("data.sources", "Re&move"));
    QCOMPARE(fixture.value("data"), QString());
  }

  void length() {
    PageFixture fixture;
    auto& unit = fixture.widget<QComboBox>("training.steps");
    auto& amount = fixture.widget<NumberSpinBox>("training.steps");
    QCOMPARE(unit.currentText(), QString("steps"));
    choose(unit, "tokens"); // 600 steps of 4 x 128
    QCOMPARE(fixture.text(), changedSample("\"steps\": 600", "\"tokens\": 307200"));
    choose(unit, "steps");
    QCOMPARE(fixture.text(), QString(sampleProject));
    choose(unit, "hours");
    type(*amount.findChild<QLineEdit*>(), "1.5");
    QCOMPARE(fixture.value("training.hours"), QString("1.5"));
    QCOMPARE(fixture.value("training.tokens"), QString());
    fixture.document.setValue("training.epochs", 3);
    QCOMPARE(unit.currentText(), QString("epochs"));
    QCOMPARE(amount.text(), QString("3"));
  }

  void stepSize() {
    PageFixture fixture;
    auto& unit = fixture.widget<QComboBox>("training.micro_batches");
    auto& amount = fixture.widget<NumberSpinBox>("training.micro_batches");
    QCOMPARE(unit.currentText(), QString("micro-batches"));
    QCOMPARE(amount.findChild<QLineEdit*>()->placeholderText(), QString("1"));
    type(*amount.findChild<QLineEdit*>(), "3");
    choose(unit, "tokens");
    QCOMPARE(fixture.value("training.tokens_per_step"), QString("1536"));
    QCOMPARE(fixture.value("training.micro_batches"), QString());
    choose(unit, "micro-batches");
    QCOMPARE(fixture.value("training.micro_batches"), QString("3"));
  }

  void modelPreset() {
    PageFixture fixture;
    auto boxes = fixture.row("model.folder").editor().findChildren<QComboBox*>();
    choose(*boxes[0], "Published shape, with random weights");
    QCOMPARE(fixture.value("model"), QString(R"({"folder":"models/tiny"})")); // nothing is chosen yet
    for (QComboBox* box : fixture.row("model.folder").editor().findChildren<QComboBox*>())
      if (const int index = box->findText("llama-3-8b"); index >= 0) box->setCurrentIndex(index);
    const Json expected = Json::parse(presetConfig("llama-3-8b")->text);
    QVERIFY(*fixture.document.value("model.config") == expected);
    QVERIFY(!fixture.document.value("model.folder"));
    // A change of the config is no preset any more.
    fixture.document.setValue("model.config.num_hidden_layers", 3);
    QCOMPARE(boxes[0]->currentText(), QString("Config in the project, with random weights"));
  }

  void modelOfSize_data() {
    QTest::addColumn<QString>("typed");
    QTest::addColumn<bool>("taken");
    QTest::newRow("letters") << "350M" << true;
    QTest::newRow("power") << "7e9" << true;
    QTest::newRow("too small") << "12" << false;
    QTest::newRow("no number") << "many" << false;
  }
  void modelOfSize() {
    QFETCH(QString, typed);
    QFETCH(bool, taken);
    PageFixture fixture;
    choose(*fixture.row("model.folder").editor().findChildren<QComboBox*>()[0],
           "Number of parameters, with random weights");
    for (QLineEdit* edit : fixture.row("model.folder").editor().findChildren<QLineEdit*>())
      if (edit->accessibleName() == "Number of parameters") {
        type(*edit, typed);
        QTest::keyClick(edit, Qt::Key_Return);
      }
    QCOMPARE(fixture.value("model.config.model_type"), taken ? QString("\"llama\"") : QString());
    QCOMPARE(fixture.value("model.folder").isEmpty(), taken);
  }

  void tokenizer() {
    PageFixture fixture;
    auto& kind = fixture.widget<QComboBox>("tokenizer");
    QVERIFY(fixture.row("tokenizer.train.vocabulary").isHidden() && fixture.row("tokenizer.file").isHidden());
    choose(kind, "Train one on the data");
    QCOMPARE(fixture.value("tokenizer"), QString(R"({"train":{"vocabulary":8192}})"));
    QVERIFY(!fixture.row("tokenizer.train.vocabulary").isHidden() && fixture.row("tokenizer.file").isHidden());
    choose(kind, "A tokenizer.json");
    QCOMPARE(fixture.value("tokenizer"), QString());
    QVERIFY(!fixture.row("tokenizer.file").isHidden());
    fixture.chosen = {fixture.folder.filePath("tokenizer.json")};
    click(fixture.button("tokenizer.file", "&Browse..."));
    QCOMPARE(fixture.value("tokenizer"), QString(R"({"file":"tokenizer.json"})"));
    choose(kind, "The model folder's");
    QCOMPARE(fixture.text(), QString(sampleProject));
  }

  void typingKeepsTheCursor() {
    PageFixture fixture;
    auto& edit = fixture.widget<QLineEdit>("training.context");
    type(edit, "1e3"); // the document says 1000
    QCOMPARE(edit.text(), QString("1e3"));
    QTest::keyClick(&edit, Qt::Key_Home);
    QTest::keyClicks(&edit, "2");
    QCOMPARE(edit.cursorPosition(), 1);
    QCOMPARE(edit.text(), QString("21e3"));
    QCOMPARE(fixture.value("training.context"), QString("21000"));
  }

  void wheelScrollsThePage() {
    PageFixture fixture;
    auto& box = fixture.widget<NumberSpinBox>("training.context");
    QWheelEvent wheel(QPointF(5, 5), box.mapToGlobal(QPointF(5, 5)), QPoint(), QPoint(0, 120), Qt::NoButton,
                      Qt::NoModifier, Qt::NoScrollPhase, false);
    QCoreApplication::sendEvent(&box, &wheel);
    QCOMPARE(fixture.value("training.context"), QString("128"));
  }
};

QTEST_MAIN(TestFields)
#include "test_fields.moc"
