// The page as a whole: messages at their fields, JSON and form in step, verdict, advice, file.
#include "configure/json_view.h"
#include "configure/tier_bar.h"
#include "page_fixture.h"

#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QTabWidget>
#include <QTextBlock>

using namespace millrace;
using namespace millrace::ui;

namespace {

QStringList textsIn(QWidget& widget) {
  QStringList texts;
  for (QLabel* label : widget.findChildren<QLabel*>())
    if (label->isVisibleTo(&widget)) texts << label->text();
  return texts;
}

bool shows(QWidget& widget, const QString& part) {
  return !textsIn(widget).filter(part).isEmpty();
}

PlanReport withAdvice() {
  PlanReport report = sampleReport(Verdict::DoesNotFit, 4 * GiB, GiB);
  PlanAdvice clip;
  clip.text = "do without clipping";
  clip.changes = {{"training.clip", "off"}, {"memory.vram_limit", "null"}};
  PlanAdvice disk;
  disk.text = "let state live on an NVMe drive as well";
  disk.changes = {{"memory.nvme.directories", R"(["DIR"])"}};
  PlanAdvice memory;
  memory.text = "give the machine more memory";
  memory.addRam = 64 * GiB;
  report.advice = {clip, disk, memory};
  return report;
}

} // namespace

class TestConfigurePage : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void initTestCase() { QLocale::setDefault(QLocale(QLocale::English, QLocale::UnitedStates)); }

  void problemIsShownAtItsField_data() {
    QTest::addColumn<QByteArray>("key");
    QTest::addColumn<QString>("value");
    QTest::addColumn<QByteArray>("row");
    QTest::addColumn<QString>("part");
    const auto row = [](const char* name, const char* key, const char* value, const char* at, const char* part) {
      QTest::newRow(name) << QByteArray(key) << QString(value) << QByteArray(at) << QString(part);
    };
    row("range", "training.micro_batch", "0", "training.micro_batch", "training.micro_batch is 0, expected a whole");
    row("length", "training.steps", "0", "training.tokens", "training.steps is 0");
    row("advanced", "training.slots", "9", "training.slots", "from 2 to 3");
    row("key of a source", "data.sources.format", R"("csv")", "data.sources", "expected one of: auto, txt, jsonl");
    row("tokenizer", "model.config", R"("c.json")", "tokenizer", "tokenizer is missing");
    row("size", "memory.vram_limit", R"("lots")", "memory.vram_limit", "'lots' is not a size");
    row("model", "model.folder", R"("")", "model.folder", "model.folder is empty");
  }
  void problemIsShownAtItsField() {
    QFETCH(QByteArray, key);
    QFETCH(QString, value);
    QFETCH(QByteArray, row);
    QFETCH(QString, part);
    PageFixture fixture;
    fixture.document.setValue(key.toStdString(), *parseJson(value.toStdString(), "value"));
    QTRY_VERIFY(!fixture.row(row).problem().isEmpty());
    QVERIFY2(fixture.row(row).problem().contains(part), qPrintable(fixture.row(row).problem()));
    QVERIFY(!fixture.row(row).problem().startsWith("sample.json"));
    QVERIFY(fixture.row(row).isVisibleTo(fixture.row(row).parentWidget()));
    QCOMPARE(fixture.panel().verdict(), QString("Not valid yet"));
    QVERIFY(shows(fixture.panel(), part));
    QVERIFY(!fixture.page.canStart());
    QVERIFY(!PageFixture::button(fixture.page, "Star&t training").isEnabled());
    int problems = 0;
    for (FieldRow* each : fixture.form().findChildren<FieldRow*>()) problems += each->problem().isEmpty() ? 0 : 1;
    QCOMPARE(problems, 1);

    fixture.document.setText(sampleProject);
    QTRY_VERIFY(fixture.row(row).problem().isEmpty());
  }

  /// Whoever types finds the next row where it was.
  void problemsMoveNoRows() {
    PageFixture fixture;
    fixture.form().reveal("training.context");
    QTRY_VERIFY(fixture.document.isValid());
    QCoreApplication::processEvents();
    std::vector<QRect> before;
    const auto rows = fixture.form().findChildren<FieldRow*>();
    for (FieldRow* row : rows) before.push_back(row->geometry());
    fixture.document.setValue("training.context", -3);
    QTRY_VERIFY(!fixture.row("training.context").problem().isEmpty());
    QCoreApplication::processEvents();
    for (qsizetype i = 0; i < rows.size(); ++i) QCOMPARE(rows[i]->geometry(), before[static_cast<std::size_t>(i)]);
    auto* text = fixture.form().findChild<QLabel*>("fieldProblem");
    QVERIFY(text->isVisible());
    QVERIFY(text->text().contains(fixture.row("training.context").problem()));
    fixture.document.setText(sampleProject);
    QTRY_VERIFY(!text->isVisible());
  }

  void sectionOfAProblemIsMarked() {
    PageFixture fixture;
    auto* sections = fixture.form().findChild<QListWidget*>(QString(), Qt::FindDirectChildrenOnly);
    QCOMPARE(sections->count(), 8);
    fixture.document.setValue("memory.vram_limit", "lots");
    QTRY_VERIFY(!sections->item(4)->icon().isNull());
    QVERIFY(sections->item(3)->icon().isNull());
    QVERIFY(sections->item(4)->data(Qt::AccessibleTextRole).toString().contains("error"));
  }

  void goingToTheField() {
    PageFixture fixture;
    QVERIFY(QTest::qWaitForWindowActive(&fixture.page));
    fixture.page.findChild<QTabWidget*>()->setCurrentIndex(1);
    fixture.document.setValue("training.slots", 9);
    FieldRow& row = fixture.row("training.slots");
    QTRY_VERIFY(!row.problem().isEmpty());
    QTest::mouseClick(&PageFixture::button(fixture.panel(), "Sho&w the field"), Qt::LeftButton);
    QVERIFY(row.isVisible()); // the tab, the section, and what was folded away
    QVERIFY(row.isAncestorOf(QApplication::focusWidget()));
  }

  void sectionsByKeyboard() {
    PageFixture fixture;
    auto* sections = fixture.form().findChild<QListWidget*>(QString(), Qt::FindDirectChildrenOnly);
    for (int i = 0; i < 4; ++i) QTest::keyClick(sections, Qt::Key_Down);
    QVERIFY(fixture.row("memory.vram_limit").isVisible());
    QVERIFY(!fixture.row("training.context").isVisible());
    QVERIFY(!fixture.row("training.slots").isVisible());
  }

  void formToJson() {
    PageFixture fixture;
    auto* json = fixture.page.findChild<JsonView*>()->findChild<QPlainTextEdit*>();
    QCOMPARE(json->toPlainText(), QString(sampleProject));
    QTest::keyClicks(&fixture.widget<QLineEdit>("training.context"), "0");
    QCOMPARE(json->toPlainText(), changedSample("\"context\": 128", "\"context\": 1280"));
  }

  void jsonToForm() {
    PageFixture fixture;
    auto* json = fixture.page.findChild<JsonView*>()->findChild<QPlainTextEdit*>();
    QTextCursor cursor = json->document()->find("128");
    json->setTextCursor(cursor);
    QTest::keyClicks(json, "512");
    QCOMPARE(fixture.widget<QLineEdit>("training.context").text(), QString("512"));
    QCOMPARE(fixture.text(), changedSample("128", "512"));
    // An edit of the form leaves the cursor where it is, and can be undone here.
    const int position = json->textCursor().position();
    fixture.document.setValue("samples.seed", 5);
    QCOMPARE(json->textCursor().position(), position);
    json->undo();
    QCOMPARE(fixture.value("samples.seed"), QString());
  }

  void jsonThatDoesNotParse() {
    PageFixture fixture;
    auto* view = fixture.page.findChild<JsonView*>();
    auto* json = view->findChild<QPlainTextEdit*>();
    json->setTextCursor(json->document()->find("600,"));
    QTest::keyClicks(json, "600,,");
    QVERIFY(!fixture.document.isParsed());
    QVERIFY(!fixture.form().isEnabled());
    QVERIFY(shows(*view, "not valid JSON at byte"));
    QCOMPARE(json->extraSelections().size(), 2);
    QCOMPARE(json->extraSelections()[1].cursor.selectedText(), QString(","));
    QTRY_COMPARE(fixture.panel().verdict(), QString("Not valid yet"));
    QTRY_VERIFY(shows(fixture.panel(), "not valid JSON"));
    const QTextCursor typed = json->textCursor();
    json->moveCursor(QTextCursor::Start);
    QTest::mouseClick(&PageFixture::button(fixture.panel(), "Sho&w the JSON"), Qt::LeftButton);
    QVERIFY(json->isVisible());
    QCOMPARE(json->textCursor().position(), typed.position() - 1);
    json->setTextCursor(typed);
    QTest::keyClick(json, Qt::Key_Backspace);
    QVERIFY(fixture.document.isParsed() && fixture.form().isEnabled());
    QTRY_COMPARE(fixture.panel().verdict(), QString("Fits"));
    QVERIFY(json->extraSelections().isEmpty());
  }

  void jsonMarksTheWrongKey() {
    PageFixture fixture;
    auto* view = fixture.page.findChild<JsonView*>();
    auto* json = view->findChild<QPlainTextEdit*>();
    fixture.document.setValue("training.micro_batch", 0);
    QTRY_VERIFY(!json->extraSelections().isEmpty());
    QCOMPARE(json->extraSelections()[1].cursor.selectedText(), QString("0"));
    QVERIFY(json->extraSelections()[0].cursor.block().text().contains("micro_batch"));
    QVERIFY(shows(*view, "training.micro_batch is 0"));
  }

  void lineEndsStay() {
    QByteArray windows(sampleProject);
    windows.replace("\n", "\r\n");
    PageFixture fixture(windows);
    auto* json = fixture.page.findChild<JsonView*>()->findChild<QPlainTextEdit*>();
    QVERIFY(!fixture.document.isDirty());
    json->setTextCursor(json->document()->find("128"));
    QTest::keyClicks(json, "512");
    QCOMPARE(QByteArray::fromStdString(fixture.document.text()), QByteArray(windows).replace("128", "512"));
  }

  void verdicts_data() {
    QTest::addColumn<int>("verdict");
    QTest::addColumn<QString>("words");
    QTest::addColumn<bool>("start");
    QTest::newRow("fits") << int(Verdict::Fits) << "Fits" << true;
    QTest::newRow("tight") << int(Verdict::Tight) << "Fits, but tightly" << true;
    QTest::newRow("does not fit") << int(Verdict::DoesNotFit) << "Does not fit" << false;
  }
  void verdicts() {
    QFETCH(int, verdict);
    PageFixture fixture;
    const bool fits = Verdict(verdict) != Verdict::DoesNotFit;
    fixture.planner.answer(sampleReport(Verdict(verdict), (fits ? 1 : 3) * GiB, 2 * GiB));
    QTRY_COMPARE(fixture.planner.asked().size(), std::size_t{2});
    QTRY_VERIFY(!shows(fixture.panel(), "Looking for advice"));
    QTEST(fixture.panel().verdict(), "words");
    QTEST(fixture.page.canStart(), "start");
    QTRY_VERIFY(shows(fixture.panel(), "1,234 tokens/s (900 to 1,666)")); // new labels are shown a little later
    QVERIFY(shows(fixture.panel(), "assumed"));
    QCOMPARE(shows(fixture.panel(), "1.00\u00a0GiB too much"), !fits);
    QCOMPARE(shows(fixture.panel(), "memory.ram_limit is too small"), !fits);
    QVERIFY(shows(fixture.panel(), fits ? "1,073,741,824 of 2,147,483,648 bytes" : "3,221,225,472 of 2,147,483,648"));
    QCOMPARE(fixture.panel().findChildren<TierBar*>().size(), 2); // no NVMe is needed, none is there
    QCOMPARE(fixture.planner.asked()[0].text, std::string(sampleProject));
    QCOMPARE(fixture.planner.asked()[0].folder, toPath(fixture.folder.path()));
  }

  void plannersRefusalIsShownAtItsField() {
    PageFixture fixture;
    fixture.planner.answer(badInput("sample.json: training.context is 128, but the model", "training.context"));
    fixture.document.setValue("training.seed", 2);
    QTRY_COMPARE(fixture.row("training.context").problem(), QString("training.context is 128, but the model"));
    QVERIFY(!fixture.page.canStart());
    fixture.planner.answer(sampleReport(Verdict::Fits, GiB, 2 * GiB));
    fixture.document.setValue("training.seed", 3);
    QTRY_COMPARE(fixture.panel().verdict(), QString("Fits"));
    QVERIFY(fixture.row("training.context").problem().isEmpty());
    QVERIFY(fixture.page.canStart());
  }

  void advice() {
    PageFixture fixture;
    fixture.planner.answer(withAdvice());
    fixture.document.setValue("training.seed", 2);
    const auto buttons = [&] {
      QList<QPushButton*> found;
      for (QPushButton* button : fixture.panel().findChildren<QPushButton*>())
        if (button->text().remove("&") == "Apply" && button->isVisible() && button->isEnabled()) found << button;
      return found;
    };
    QTRY_COMPARE(buttons().size(), 2); // more memory is not the project's to apply
    QVERIFY(shows(fixture.panel(), "What would make it fit"));
    QVERIFY(shows(fixture.panel(), "Do without clipping"));
    QVERIFY(shows(fixture.panel(), "64.0\u00a0GiB more RAM"));
    QTest::mouseClick(buttons()[0], Qt::LeftButton);
    QCOMPARE(fixture.value("training.clip"), QString("\"off\""));
    QCOMPARE(fixture.value("memory"), QString());
    QCOMPARE(buttons().size(), 0); // until there is advice on what the project is now
    QTRY_COMPARE(buttons().size(), 2);
    QTest::mouseClick(buttons()[1], Qt::LeftButton); // asks for a folder, and gets none
    QCOMPARE(fixture.value("memory"), QString());
    fixture.chosen = {"/mnt/ssd"};
    QTest::mouseClick(buttons()[1], Qt::LeftButton);
    QCOMPARE(fixture.value("memory.nvme.directories"), QString(R"(["/mnt/ssd"])"));
  }

  void saving() {
    PageFixture fixture;
    auto& save = PageFixture::button(fixture.page, "&Save");
    QVERIFY(!save.isEnabled());
    QTest::keyClicks(&fixture.widget<QLineEdit>("training.context"), "0");
    QVERIFY(save.isEnabled());
    QVERIFY(shows(fixture.page, "not saved"));
    QTest::mouseClick(&save, Qt::LeftButton);
    QTRY_VERIFY(!fixture.document.isDirty());
    QCOMPARE(QString::fromUtf8(readAll(fixture.folder.filePath("sample.json"))),
             changedSample("\"context\": 128", "\"context\": 1280"));
    QVERIFY(!shows(fixture.page, "not saved"));

    fixture.chosen = {fixture.folder.filePath("copy.json")};
    QTest::mouseClick(&PageFixture::button(fixture.page, "Save &as…"), Qt::LeftButton);
    QTRY_COMPARE(fixture.document.filePath(), fixture.folder.filePath("copy.json"));
    QVERIFY(fixture.requests.back().kind == PathRequest::Kind::SaveFile);
  }

  void changedByAnotherProgram() {
    PageFixture fixture;
    QVERIFY(writeAll(fixture.folder.filePath("sample.json"), changedSample("600", "700").toUtf8()));
    fixture.document.setValue("training.context", 256);
    fixture.page.save();
    QTRY_VERIFY(shows(fixture.page, "changed by another program"));
    QTest::mouseClick(&PageFixture::button(fixture.page, "Re&load"), Qt::LeftButton);
    QTRY_COMPARE(fixture.value("training.steps"), QString("700"));
    QCOMPARE(fixture.value("training.context"), QString("128"));
    QVERIFY(!shows(fixture.page, "changed by another program"));
  }

  /// Told without a save, and what is shown can be kept.
  void changedWhileItIsShown() {
    PageFixture fixture;
    const QString file = fixture.folder.filePath("sample.json");
    QVERIFY(writeAll(file, changedSample("600", "700").toUtf8()));
    QEvent activated(QEvent::WindowActivate); // at once, not when it is looked again
    QCoreApplication::sendEvent(&fixture.page, &activated);
    QTRY_VERIFY_WITH_TIMEOUT(shows(fixture.page, "changed by another program"), 1500);
    QCOMPARE(fixture.value("training.steps"), QString("600"));
    QTest::mouseClick(&PageFixture::button(fixture.page, "&Keep mine"), Qt::LeftButton);
    QVERIFY(!shows(fixture.page, "changed by another program"));
    QVERIFY(fixture.document.isDirty() && shows(fixture.page, "not saved"));
    fixture.page.save();
    QTRY_VERIFY(!fixture.document.isDirty());
    QCOMPARE(QString::fromUtf8(readAll(file)), QString(sampleProject));
  }

  void dataThatCannotBeRead_data() {
    QTest::addColumn<QString>("sources");
    QTest::addColumn<QString>("part");
    QTest::newRow("missing") << R"(["a.txt", "c.txt"])"
                             << "c.txt: there is no such file or folder";
    QTest::newRow("empty") << R"("empty.txt")"
                           << "no data: there is no document in ";
    QTest::newRow("empty folder") << R"("nothing")"
                                  << "nothing: holds no file to read";
    QTest::newRow("not allowed") << R"("secret.txt")"
                                 << "secret.txt";
    QTest::newRow("unknown kind") << R"("table.parquet")"
                                  << "Parquet is not read";
  }
  void dataThatCannotBeRead() {
    PageFixture fixture;
    for (const char* name : {"empty.txt", "secret.txt", "table.parquet"})
      QVERIFY(writeAll(fixture.folder.filePath(name), QByteArray(name) == "empty.txt" ? "" : "text"));
    QVERIFY(QDir(fixture.folder.path()).mkdir("nothing"));
    QFile secret(fixture.folder.filePath("secret.txt"));
    QVERIFY(secret.setPermissions({}));
    QFETCH(QString, sources);
    if (sources.contains("secret") && secret.open(QIODevice::ReadOnly)) QSKIP("this user may read everything");
    fixture.document.setValue("data.sources", *parseJson(sources.toStdString(), "sources"));
    FieldRow& row = fixture.row("data.sources");
    QTRY_VERIFY(!row.problem().isEmpty());
    QFETCH(QString, part);
    QVERIFY2(row.problem().contains(part), qPrintable(row.problem()));
    QVERIFY(shows(fixture.form(), part));
    QTRY_COMPARE(fixture.panel().verdict(), QString("Fits")); // what it needs is told all the same
    // Seen as well once somebody has put it right elsewhere and comes back.
    for (const char* name : {"c.txt", "empty.txt", "nothing/a.txt"})
      QVERIFY(writeAll(fixture.folder.filePath(name), "A goose."));
    QEvent activated(QEvent::WindowActivate);
    QCoreApplication::sendEvent(&fixture.page, &activated);
    if (!part.contains("Parquet") && !sources.contains("secret")) QTRY_VERIFY(row.problem().isEmpty());
  }

  void starting() {
    PageFixture fixture;
    QSignalSpy started(&fixture.page, &ConfigurePage::startRequested);
    auto& start = PageFixture::button(fixture.page, "Star&t training");
    QTRY_VERIFY(start.isEnabled());
    QTest::mouseClick(&start, Qt::LeftButton);
    QCOMPARE(started.count(), 1);
  }

  void longNamesAndHugeNumbers() {
    PageFixture fixture;
    const int width = fixture.page.minimumSizeHint().width();
    QVERIFY2(width <= 1100, qPrintable(QString::number(width)));
    PlanReport report = sampleReport(Verdict::DoesNotFit, INT64_MAX / 2, 1);
    report.parameters = report.tokensPerStep = INT64_MAX;
    report.tiers[1].categories[0].name = std::string(200, 'x');
    report.time.tokensPerSecond = report.time.low = report.time.high = 1e18;
    report.run.seconds = 1e18;
    report.reasons = {std::string(60, 'y') + " " + std::string(60, 'z')};
    fixture.planner.answer(report);
    const std::string longName(100, 'n');
    fixture.document.setValue("name", longName);
    fixture.document.setValue("model.folder", std::string(500, 'm'));
    fixture.document.setValue("memory.vram_limit", INT64_MAX);
    QTRY_COMPARE(fixture.panel().verdict(), QString("Does not fit"));
    QCOMPARE(fixture.page.minimumSizeHint().width(), width);
    QCOMPARE(fixture.page.width(), 1200);
  }
};

QTEST_MAIN(TestConfigurePage)
#include "test_configure_page.moc"
