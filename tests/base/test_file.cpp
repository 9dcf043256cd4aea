// What the local file system makes of names and of things that are no files.
#include "base/atomic_file.h"

#include <QTemporaryDir>
#include <QTest>
#include <fcntl.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

using namespace millrace;
using namespace std::string_literals;

class TestFile : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() {
    m_folder = std::make_unique<QTemporaryDir>();
    QVERIFY(m_folder->isValid());
  }

  void aPipeIsNotWaitedFor() {
    QCOMPARE(::mkfifo(at("pipe").c_str(), 0600), 0);
    refused(readTextFile(m_files, at("pipe")), "pipe");
    refused(writeTextFile(m_files, at("pipe"), "text"), "not replaced");
    struct stat info = {};
    QVERIFY(::lstat(at("pipe").c_str(), &info) == 0 && S_ISFIFO(info.st_mode));
  }

  void roomIsReservedAndReadsAsZeros() {
    QVERIFY(writeTextFile(m_files, at("room"), "text").has_value());
    const auto file = std::move(*m_files.open(at("room"), OpenMode::ReadWrite));
    QVERIFY(file->allocate(3 * MiB + 5).has_value());
    QCOMPARE(*file->size(), 3 * MiB + 5);
    struct stat info = {};
    QVERIFY(::fstat(file->descriptor(), &info) == 0 && Bytes{512} * info.st_blocks >= 3 * MiB + 5);
    const auto text = readTextFile(m_files, at("room"));
    QVERIFY(*text == "text" + std::string(3 * MiB + 1, '\0'));
    QVERIFY(file->allocate(MiB).has_value()); // never less
    QCOMPARE(*file->size(), 3 * MiB + 5);
    const Status tooMuch = file->allocate(Bytes{1} << 62);
    QVERIFY(!tooMuch && tooMuch.error().message.find("room: cannot reserve") != std::string::npos);
  }

  void aDeviceIsRefused() { refused(readTextFile(m_files, "/dev/zero"), "device"); }

  void aFolderIsRefused() { refused(readTextFile(m_files, m_folder->path().toStdString()), "is a folder"); }

  void aNameEndsAtNoNul() {
    QVERIFY(writeTextFile(m_files, at("q"), "text").has_value());
    const Path name = at("q"s + '\0' + "z");
    QVERIFY(!m_files.exists(name));
    QVERIFY(!m_files.isDirectory(at("."s + '\0')));
    refused(readTextFile(m_files, name), "NUL");
    refused(m_files.createDirectories(at("folder"s + '\0' + "z")), "NUL");
    QVERIFY(!m_files.exists(at("folder")));
  }

  void whyAFolderCannotBeMade() {
    QVERIFY(writeTextFile(m_files, at("file"), "text").has_value());
    refused(m_files.createDirectories(at("file") / "below"), "Not a directory");
    refused(m_files.createDirectories(at(std::string(300, 'x'))), "File name too long");
  }

  /// What may not be looked at is not taken for missing.
  void whatIsForbiddenIsNoMissingFile() {
    QVERIFY(m_files.createDirectories(at("locked")).has_value());
    QVERIFY(writeTextFile(m_files, at("locked") / "file", "text").has_value());
    QCOMPARE(::chmod(at("locked").c_str(), 0), 0);
    QCOMPARE(::chmod(m_folder->path().toUtf8(), 0755), 0);
    const uid_t user = ::geteuid();
    if (user == 0) QCOMPARE(::seteuid(65534), 0); // root may look everywhere
    const bool exists = m_files.exists(at("locked") / "file"), missing = m_files.exists(at("missing"));
    const auto text = readTextFile(m_files, at("locked") / "file");
    if (user == 0) QCOMPARE(::seteuid(user), 0);
    QCOMPARE(::chmod(at("locked").c_str(), 0700), 0);
    QVERIFY(exists && !missing);
    QVERIFY(!text && text.error().message.find("Permission denied") != std::string::npos);
  }

  void aLoopOfLinksIsBadInput() {
    QVERIFY(QFile::link("b", QString::fromStdString(at("a").string())));
    QVERIFY(QFile::link("a", QString::fromStdString(at("b").string())));
    refused(readTextFile(m_files, at("a")), "symbolic links");
  }

 private:
  Path at(const std::string& name) const { return Path(m_folder->path().toStdString()) / name; }

  template <class T>
  static void refused(const T& outcome, const char* word) {
    QVERIFY(!outcome);
    QVERIFY2(outcome.error().kind == ErrorKind::BadInput, outcome.error().message.c_str());
    QVERIFY2(outcome.error().message.find(word) != std::string::npos, outcome.error().message.c_str());
  }

  LocalFileSystem m_files;
  std::unique_ptr<QTemporaryDir> m_folder;
};

QTEST_GUILESS_MAIN(TestFile)
#include "test_file.moc"
