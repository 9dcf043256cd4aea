// One project, one program: a child process holds the lock where another program has to.
#include "configure/configure_page.h"
#include "configure/project_document.h"
#include "configure/project_lock.h"

#include <QCoreApplication>
#include <QFile>
#include <QProcess>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QThreadPool>
#include <QtTest>

using namespace millrace;
using namespace millrace::ui;

namespace {

#define TRY(condition) QTRY_VERIFY_WITH_TIMEOUT(condition, 60'000)

/// This program once more, holding a project until its input ends.
class Other {
 public:
  explicit Other(const QString& project) {
    m_process.setProgram(QCoreApplication::applicationFilePath());
    m_process.setArguments({"--hold", project});
  }
  ~Other() { end(); }
  bool start() {
    m_process.start();
    return m_process.waitForReadyRead(60'000) && m_process.readAllStandardOutput() == "held\n";
  }
  void end() {
    m_process.closeWriteChannel();
    m_process.waitForFinished();
  }
  void kill() {
    m_process.kill();
    m_process.waitForFinished();
  }
  qint64 id() const { return m_process.processId(); }

 private:
  QProcess m_process;
};

int hold(const QString& project) {
  const ProjectLock lock = lockProject(project);
  QFile out, in;
  if (!lock.lock || !out.open(stdout, QIODevice::WriteOnly) || !in.open(stdin, QIODevice::ReadOnly)) return 1;
  out.write("held\n");
  out.flush();
  in.readAll(); // until it is closed
  return 0;
}

} // namespace

class TestProjectLock : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() {
    m_folder = std::make_unique<QTemporaryDir>();
    m_project = m_folder->filePath("goose.json");
    QFile file(m_project);
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write("{\"format\": 1, \"name\": \"goose\"}\n");
  }
  void cleanup() { QThreadPool::globalInstance()->waitForDone(); }

  void isHeldByOneProgram() {
    const QString beside = m_folder->filePath(".goose.json.lock");
    {
      const ProjectLock mine = lockProject(m_project);
      QVERIFY(mine.lock && !mine.holder);
      QVERIFY(QFile::exists(beside));
      const ProjectLock again = lockProject(m_project); // this program is no other
      QVERIFY(!again.lock && !again.holder);
    }
    QVERIFY(!QFile::exists(beside));
    Other other(m_project);
    QVERIFY(other.start());
    const ProjectLock refused = lockProject(m_project);
    QVERIFY(!refused.lock && refused.holder);
    QCOMPARE(refused.holder->process, other.id());
    const QString text = holderText(*refused.holder);
    QVERIFY2(text.contains("test_project_lock") && text.contains(QString::number(other.id())), qPrintable(text));
    other.end();
    QVERIFY(lockProject(m_project).lock);
  }

  void aProgramThatIsGoneHoldsNothing() {
    Other other(m_project);
    QVERIFY(other.start());
    other.kill();
    QVERIFY(QFile::exists(lockFileOf(m_project)));
    QVERIFY(lockProject(m_project).lock);
  }

  void linksLeadToOneLock() {
    const QString link = m_folder->filePath("link.json");
    QVERIFY(QFile::link(m_project, link));
    QCOMPARE(lockFileOf(link), lockFileOf(m_project));
  }

  void whatCannotBeLockedIsOpenedAllTheSame() {
    const ProjectLock none = lockProject(m_folder->filePath("no/such/folder/goose.json"));
    QVERIFY(!none.lock && !none.holder);
  }

  void aDocumentKeepsItsFile() {
    ProjectDocument document;
    QSignalSpy loaded(&document, &ProjectDocument::loaded), elsewhere(&document, &ProjectDocument::openElsewhere);
    document.load(m_project);
    TRY(loaded.count() == 1);
    QVERIFY(QFile::exists(lockFileOf(m_project)) && !document.isReadOnly());
    document.load(m_project); // again
    TRY(loaded.count() == 2);
    QVERIFY(QFile::exists(lockFileOf(m_project)));
    // Under another name it keeps that file.
    QSignalSpy saved(&document, &ProjectDocument::saved);
    const QString moved = m_folder->filePath("swan.json");
    document.saveAs(moved);
    TRY(saved.count() == 1);
    QVERIFY(QFile::exists(lockFileOf(moved)) && !QFile::exists(lockFileOf(m_project)));
    document.startNew({});
    QVERIFY(!QFile::exists(lockFileOf(moved)));
    QCOMPARE(elsewhere.count(), 0);
  }

  void whatIsOpenElsewhereIsReadOnly() {
    Other other(m_project);
    QVERIFY(other.start());
    ProjectDocument document;
    QSignalSpy loaded(&document, &ProjectDocument::loaded), elsewhere(&document, &ProjectDocument::openElsewhere),
        failed(&document, &ProjectDocument::saveFailed), saved(&document, &ProjectDocument::saved);
    document.load(m_project);
    TRY(elsewhere.count() == 1);
    QCOMPARE(loaded.count(), 0);
    QVERIFY(document.filePath().isEmpty()); // everything as it was
    document.load(m_project, ProjectDocument::Access::ReadOnly);
    TRY(loaded.count() == 1);
    QVERIFY(document.isReadOnly());
    document.setValue("name", "swan");
    document.save();
    TRY(failed.count() == 1);
    document.saveAs(m_project);
    TRY(failed.count() == 2);
    QVERIFY(failed[1][0].toString().contains(QString::number(other.id())));
    QFile file(m_project);
    QVERIFY(file.open(QIODevice::ReadOnly));
    QVERIFY(file.readAll().contains("goose")); // nobody wrote over it
    document.saveAs(m_folder->filePath("swan.json"));
    TRY(saved.count() == 1);
    QVERIFY(!document.isReadOnly());
    document.setValue("name", "duck");
    document.save();
    TRY(saved.count() == 2);
    // Once the other is done, it can be opened for changes.
    document.load(m_project, ProjectDocument::Access::ReadOnly);
    TRY(loaded.count() == 2);
    QSignalSpy title(&document, &ProjectDocument::titleChanged);
    other.end();
    document.load(m_project);
    TRY(loaded.count() == 3);
    QVERIFY(!document.isReadOnly() && document.filePath() == m_project);
    QCOMPARE(title.count(), 1);
  }

  /// Save asks for another name.
  void savingWhatIsReadOnlyAsksForAName() {
    Other other(m_project);
    QVERIFY(other.start());
    ProjectDocument document;
    QSignalSpy loaded(&document, &ProjectDocument::loaded);
    document.load(m_project, ProjectDocument::Access::ReadOnly);
    TRY(loaded.count() == 1);
    int asked = 0;
    ConfigurePage page(document, [&](QWidget*, const PathRequest& request, PathChosen) {
      asked += request.kind == PathRequest::Kind::SaveFile ? 1 : 0;
    });
    page.save();
    QCOMPARE(asked, 1);
  }

 private:
  std::unique_ptr<QTemporaryDir> m_folder;
  QString m_project;
};

int main(int argc, char** argv) {
  if (argc == 3 && QByteArray(argv[1]) == "--hold") {
    const QCoreApplication application(argc, argv);
    return hold(QFile::decodeName(argv[2]));
  }
  QApplication application(argc, argv);
  TestProjectLock test;
  return QTest::qExec(&test, argc, argv);
}

#include "test_project_lock.moc"
