// The document: values in and out of a text that stays as it was written, files, and the engine's check.
#include "fixtures.h"

#include <QSemaphore>
#include <QSignalSpy>
#include <QThreadPool>

using namespace millrace;
using namespace millrace::ui;

class TestProjectDocument : public QObject {
  Q_OBJECT

  QTemporaryDir m_folder;
  QString path(const char* name) const { return m_folder.filePath(name); }

  /// Reads the sample from a file of this name.
  void loadSample(ProjectDocument& document, const char* name, const QByteArray& text = sampleProject) {
    QVERIFY(writeAll(path(name), text));
    QSignalSpy loaded(&document, &ProjectDocument::loaded);
    document.load(path(name));
    QTRY_COMPARE(loaded.count(), 1);
  }

 private Q_SLOTS:
  void newProject() {
    ProjectDocument document;
    QCOMPARE(document.name(), QString("untitled"));
    QVERIFY(document.filePath().isEmpty() && !document.isDirty() && document.isParsed() && !document.isValid());
    QSignalSpy validated(&document, &ProjectDocument::validated);
    QTRY_COMPARE(validated.count(), 1);
    QCOMPARE(validated[0][0].toBool(), false);
    QCOMPARE(validated[0][1].toString(), QString("model.folder"));
    QVERIFY(validated[0][2].toString().startsWith("untitled.json: model.folder"));
  }

  void loading() {
    ProjectDocument document;
    QSignalSpy titles(&document, &ProjectDocument::titleChanged);
    QSignalSpy dirty(&document, &ProjectDocument::dirtyChanged);
    QSignalSpy validated(&document, &ProjectDocument::validated);
    loadSample(document, "loading.json");
    QCOMPARE(document.filePath(), path("loading.json"));
    QCOMPARE(document.folder(), m_folder.path());
    QCOMPARE(document.name(), QString("sample"));
    QCOMPARE(titles.count(), 1);
    QCOMPARE(dirty.count(), 0);
    QCOMPARE(valueText(document, "training.learning_rate"), QString("0.002"));
    QCOMPARE(valueText(document, "training.seed"), QString());
    QTRY_COMPARE(validated.count(), 1);
    QVERIFY(document.isValid());
    QVERIFY(validated[0][0].toBool());
  }

  void loadingFails() {
    ProjectDocument document;
    const std::string before = document.text();
    QSignalSpy failed(&document, &ProjectDocument::loadFailed);
    document.load(path("not-there.json"));
    QTRY_COMPARE(failed.count(), 1);
    QVERIFY(failed[0][0].toString().contains("not-there.json"));
    QCOMPARE(document.text(), before);
    QVERIFY(document.filePath().isEmpty());
  }

  void loadingWhatDoesNotParse() {
    ProjectDocument document;
    loadSample(document, "whole.json");
    loadSample(document, "torn.json", "{\"format\": 1");
    QVERIFY(!document.isParsed() && !document.isDirty());
    QCOMPARE(document.name(), QString("torn")); // nothing of the last project
    QCOMPARE(valueText(document, "training"), QString());
  }

  void theLastLoadWins() {
    QVERIFY(writeAll(path("first.json"), sampleProject) && writeAll(path("second.json"), sampleProject));
    ProjectDocument document;
    QSignalSpy loaded(&document, &ProjectDocument::loaded);
    // Both wait for the only thread there is, so that neither is told of before both are asked for.
    QThreadPool& pool = *QThreadPool::globalInstance();
    const int threads = pool.maxThreadCount();
    pool.setMaxThreadCount(1);
    QSemaphore go;
    pool.start([&go] { go.acquire(); });
    document.load(path("first.json"));
    document.load(path("second.json"));
    go.release();
    QTRY_COMPARE(loaded.count(), 1);
    QVERIFY(pool.waitForDone());
    QCoreApplication::processEvents();
    QCOMPARE(loaded.count(), 1);
    QCOMPARE(document.filePath(), path("second.json"));
    pool.setMaxThreadCount(threads);
  }

  void savingChangesWhatWasEdited() {
    ProjectDocument document;
    const QByteArray unknown = changedSample("\"steps\": 600,", "\"x-note\":   [1,\t2],\n    \"steps\": 600,").toUtf8();
    loadSample(document, "edited.json", unknown);
    QSignalSpy dirty(&document, &ProjectDocument::dirtyChanged);
    QSignalSpy saved(&document, &ProjectDocument::saved);
    document.setValue("training.context", 256);
    QCOMPARE(dirty.count(), 1);
    QVERIFY(document.isDirty());
    document.save();
    QTRY_COMPARE(saved.count(), 1);
    QVERIFY(!document.isDirty());
    QCOMPARE(readAll(path("edited.json")), QByteArray(unknown).replace("\"context\": 128", "\"context\": 256"));
    QCOMPARE(QDir(m_folder.path()).entryList({"edited.json*"}), QStringList{"edited.json"}); // nothing left aside
  }

  void undoneEditIsNotDirty() {
    ProjectDocument document;
    loadSample(document, "undone.json");
    document.setValue("training.context", 256);
    QVERIFY(document.isDirty());
    document.setValue("training.context", 128);
    QVERIFY(!document.isDirty());
  }

  void savingWithoutAFile() {
    ProjectDocument document;
    QSignalSpy failed(&document, &ProjectDocument::saveFailed);
    document.save();
    QCOMPARE(failed.count(), 1);
    QVERIFY(!document.isChangedOnDisk());
  }

  void savingFails() {
    ProjectDocument document;
    loadSample(document, "fails.json");
    document.setValue("training.context", 256);
    QSignalSpy failed(&document, &ProjectDocument::saveFailed);
    document.saveAs(path("no-such-folder/p.json"));
    QTRY_COMPARE(failed.count(), 1);
    QVERIFY(failed[0][0].toString().contains("no-such-folder"));
    QCOMPARE(document.filePath(), path("fails.json"));
    QVERIFY(document.isDirty());
  }

  void anotherProgramsChangeIsNotLost() {
    ProjectDocument document;
    loadSample(document, "others.json");
    document.setValue("training.context", 256);
    QVERIFY(writeAll(path("others.json"), "{}"));
    QSignalSpy failed(&document, &ProjectDocument::saveFailed);
    QSignalSpy saved(&document, &ProjectDocument::saved);
    document.save();
    QTRY_COMPARE(failed.count(), 1);
    QVERIFY(document.isChangedOnDisk());
    QCOMPARE(readAll(path("others.json")), QByteArray("{}"));
    document.keepMine();
    QVERIFY(!document.isChangedOnDisk() && document.isDirty());
    document.save();
    QTRY_COMPARE(saved.count(), 1);
    QVERIFY(readAll(path("others.json")).contains("256"));
  }

  /// Without being asked: whoever edits is to know before anything is made of the text.
  void anotherProgramsChangeIsSeen() {
    ProjectDocument document;
    loadSample(document, "watched.json");
    QSignalSpy disk(&document, &ProjectDocument::diskChanged);
    QVERIFY(writeAll(path("watched.json"), "{}"));
    QTRY_COMPARE(disk.count(), 1);
    QVERIFY(document.isChangedOnDisk() && !document.isDirty());
    QCOMPARE(toQt(document.text()), QString(sampleProject));
    document.keepMine();
    QVERIFY(!document.isChangedOnDisk() && document.isDirty());
    // The same text from somebody else is no news.
    QVERIFY(writeAll(path("watched.json"), sampleProject));
    QTRY_VERIFY(!document.isDirty());
    QVERIFY(!document.isChangedOnDisk());
  }

  void whatIsWrittenHereIsNoChange() {
    ProjectDocument document;
    loadSample(document, "own.json");
    QSignalSpy disk(&document, &ProjectDocument::diskChanged);
    QSignalSpy saved(&document, &ProjectDocument::saved);
    int looks = 0;
    for (int i = 0; i < 20; ++i) {
      document.setValue("training.context", 1000 + i);
      document.lookAtFile([&] { ++looks; });
      document.save();
      document.lookAtFile([&] { ++looks; });
      QTRY_COMPARE(saved.count(), i + 1);
    }
    QTRY_COMPARE(looks, 40);
    QCOMPARE(disk.count(), 0);
    QVERIFY(!document.isDirty());
  }

  void saveAsKeepsWhatPathsMean() {
    ProjectDocument document;
    loadSample(document, "moved.json");
    QVERIFY(QDir(m_folder.path()).mkdir("deeper"));
    QSignalSpy saved(&document, &ProjectDocument::saved);
    QSignalSpy titles(&document, &ProjectDocument::titleChanged);
    document.saveAs(path("deeper/moved.json"));
    QTRY_COMPARE(saved.count(), 1);
    QCOMPARE(titles.count(), 1);
    QCOMPARE(document.filePath(), path("deeper/moved.json"));
    QCOMPARE(valueText(document, "model.folder"), '"' + path("models/tiny") + '"');
    QCOMPARE(valueText(document, "data.sources.path.1"), '"' + path("b.txt") + '"');
    QCOMPARE(readAll(path("deeper/moved.json")), QByteArray::fromStdString(document.text()));
    QVERIFY(!document.isDirty());
  }

  void editedWhileSaving() {
    ProjectDocument document;
    loadSample(document, "while.json");
    document.setValue("training.context", 256);
    QSignalSpy saved(&document, &ProjectDocument::saved);
    document.save();
    document.setValue("training.context", 512);
    QTRY_COMPARE(saved.count(), 1);
    QVERIFY(document.isDirty());
    QVERIFY(readAll(path("while.json")).contains("256"));
    QCOMPARE(valueText(document, "training.context"), QString("512"));
  }

  void exclusiveKeys() {
    ProjectDocument document;
    loadSample(document, "exclusive.json");
    document.setValue("training.hours", 1.5);
    QCOMPARE(toQt(document.text()), changedSample("\"steps\": 600", "\"hours\": 1.5"));
    document.setValue("model.config.hidden_size", 64);
    QCOMPARE(valueText(document, "model"), QString(R"({"config":{"hidden_size":64}})"));
  }

  void applying() {
    ProjectDocument document;
    loadSample(document, "applying.json");
    document.apply({{"training.clip", "off"}, {"memory.vram_limit", "null"}, {"training.micro_batch", "2"}});
    QCOMPARE(valueText(document, "training.clip"), QString("\"off\""));
    QCOMPARE(valueText(document, "training.micro_batch"), QString("2"));
    QCOMPARE(valueText(document, "memory"), QString());
  }

  void textThatDoesNotParse() {
    ProjectDocument document;
    loadSample(document, "broken.json");
    QSignalSpy validated(&document, &ProjectDocument::validated);
    document.setText("{\n  \"format\": 1,,\n}");
    QVERIFY(!document.isParsed());
    QCOMPARE(document.parseErrorByte(), std::optional<std::size_t>(16));
    QCOMPARE(valueText(document, "training.steps"), QString("600")); // as it was
    document.setValue("training.steps", 5);
    QVERIFY(document.text().find("\"training\"") == std::string::npos);
    QTRY_COMPARE(validated.count(), 1);
    QVERIFY(validated[0][2].toString().contains("not valid JSON at byte"));
    document.setText("[]");
    QVERIFY(!document.isParsed());
    document.setText(sampleProject);
    QVERIFY(document.isParsed() && !document.isDirty());
    QTRY_VERIFY(document.isValid());
  }

  void onlyTheLastTextIsChecked() {
    ProjectDocument document;
    loadSample(document, "often.json");
    QTRY_VERIFY(document.isValid());
    QSignalSpy validated(&document, &ProjectDocument::validated);
    for (int steps = 0; steps > -20; --steps) document.setValue("training.steps", steps);
    QVERIFY(!document.isValid());
    QTRY_COMPARE(validated.count(), 1);
    QCOMPARE(validated[0][1].toString(), QString("training.steps"));
    QVERIFY(validated[0][2].toString().contains("is -19,"));
  }

  void signalsComeOnTheGuiThread() {
    ProjectDocument document;
    QThread* told = nullptr;
    connect(
        &document, &ProjectDocument::loaded, this, [&] { told = QThread::currentThread(); }, Qt::DirectConnection);
    loadSample(document, "thread.json");
    QCOMPARE(told, QThread::currentThread());
    told = nullptr;
    connect(
        &document, &ProjectDocument::validated, this, [&] { told = QThread::currentThread(); }, Qt::DirectConnection);
    QTRY_COMPARE(told, QThread::currentThread());
  }

  void goneWhileReading() {
    QVERIFY(writeAll(path("gone.json"), sampleProject));
    {
      ProjectDocument document;
      document.load(path("gone.json"));
    }
    QVERIFY(QThreadPool::globalInstance()->waitForDone());
    QCoreApplication::processEvents();
  }
};

QTEST_GUILESS_MAIN(TestProjectDocument)
#include "test_project_document.moc"
