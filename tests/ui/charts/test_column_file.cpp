// Columns read back as they were written, from file and memory, also where the file cannot be made or grown.
#include "charts/column_file.h"

#include <QDir>
#include <QFile>
#include <QTemporaryDir>
#include <QTest>
#include <csignal>
#include <sys/resource.h>

using namespace millrace;
using namespace millrace::ui;

namespace {

constexpr int columns = 3;
constexpr std::int64_t chunk = ColumnFile::chunkRows;

double expected(int column, std::int64_t row, double salt) {
  return static_cast<double>(row) * 8 + column + salt;
}

/// In batches that do not fit in chunks evenly.
void append(ColumnFile& file, std::int64_t rows, double salt = 0) {
  for (const std::int64_t end = file.rows() + rows; file.rows() < end;) {
    const std::int64_t count = std::min<std::int64_t>(end - file.rows(), 5000);
    std::vector<double> values;
    for (std::int64_t row = file.rows(); row < file.rows() + count; ++row)
      for (int column = 0; column < columns; ++column) values.push_back(expected(column, row, salt));
    QVERIFY(file.append(values).has_value());
  }
}

bool holds(const ColumnFile& file, std::int64_t begin, std::int64_t end, double salt = 0) {
  for (std::int64_t row = begin; row < end; ++row)
    for (int column = 0; column < columns; ++column)
      if (file.value(column, row) != expected(column, row, salt)) return false;
  return true;
}

/// Files may not grow beyond this while it lives.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : m_handler(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &m_before);
    const rlimit limit{bytes, m_before.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &m_before);
    std::signal(SIGXFSZ, m_handler);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit m_before = {};
  void (*m_handler)(int);
};

} // namespace

class TestColumnFile : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void readsBack_data() {
    QTest::addColumn<bool>("inFile");
    QTest::addColumn<qint64>("rows");
    for (const bool inFile : {false, true}) {
      const char* place = inFile ? "file" : "memory";
      QTest::addRow("%s, nothing", place) << inFile << qint64{0};
      QTest::addRow("%s, one row", place) << inFile << qint64{1};
      QTest::addRow("%s, a chunk", place) << inFile << qint64{chunk};
      QTest::addRow("%s, a chunk and a row", place) << inFile << qint64{chunk + 1};
      QTest::addRow("%s, many chunks", place) << inFile << qint64{4 * chunk + 17};
    }
  }
  void readsBack() {
    QFETCH(bool, inFile);
    QFETCH(qint64, rows);
    QTemporaryDir folder;
    ColumnFile file(columns, inFile ? folder.filePath(QStringLiteral("made/on/demand")) : QString());
    append(file, rows);
    QCOMPARE(file.rows(), rows);
    QVERIFY(holds(file, 0, rows));
    QVERIFY(file.notice().isEmpty());
    QCOMPARE(file.fileBytes(), inFile ? rows / chunk * chunk * columns * 8 : 0);
    // Nothing has a name that could stay behind.
    QVERIFY(QDir(folder.filePath(QStringLiteral("made/on/demand"))).entryList(QDir::Files | QDir::Hidden).isEmpty());
  }

  void truncates_data() {
    QTest::addColumn<qint64>("rows");
    QTest::addColumn<qint64>("left");
    QTest::newRow("in the open chunk") << qint64{2 * chunk + 100} << qint64{2 * chunk + 7};
    QTest::newRow("to a written chunk's end") << qint64{2 * chunk + 100} << qint64{2 * chunk};
    QTest::newRow("into a written chunk") << qint64{3 * chunk} << qint64{chunk + 5};
    QTest::newRow("to nothing") << qint64{3 * chunk + 1} << qint64{0};
    QTest::newRow("not at all") << qint64{chunk + 1} << qint64{chunk + 1};
  }
  void truncates() {
    QFETCH(qint64, rows);
    QFETCH(qint64, left);
    QTemporaryDir folder;
    ColumnFile file(columns, folder.path());
    append(file, rows);
    file.truncate(left);
    QCOMPARE(file.rows(), left);
    append(file, 2 * chunk, 0.5);
    QCOMPARE(file.rows(), left + 2 * chunk);
    QVERIFY(holds(file, 0, left));
    QVERIFY(holds(file, left, left + 2 * chunk, 0.5));
    QVERIFY(file.fileBytes() > 0);
  }

  void staysInMemoryWithoutFolder() {
    QTemporaryDir folder;
    const QString blocked = folder.filePath(QStringLiteral("a file"));
    QFile(blocked).open(QIODevice::WriteOnly);
    ColumnFile file(columns, blocked + QStringLiteral("/below"));
    append(file, 3 * chunk + 1);
    QVERIFY(holds(file, 0, 3 * chunk + 1));
    QCOMPARE(file.fileBytes(), 0);
    QVERIFY2(file.notice().contains(QStringLiteral("a file")), qPrintable(file.notice()));
  }

  void fullDiskIsNoEnd() {
    QTemporaryDir folder;
    constexpr std::int64_t chunkBytes = chunk * columns * 8;
    ColumnFile file(columns, folder.path());
    {
      const FileSizeLimit limit(2 * chunkBytes + 4096);
      append(file, 2 * chunk);
      QVERIFY(file.notice().isEmpty());
      append(file, 2 * chunk + 9);
      QVERIFY2(!file.notice().isEmpty(), "the limit did not show");
    }
    QCOMPARE(file.fileBytes(), 2 * chunkBytes);
    QVERIFY(holds(file, 0, 4 * chunk + 9));
    file.truncate(chunk / 2); // rows of the file, whose chunk has to be copied
    append(file, chunk, 0.25);
    QVERIFY(holds(file, 0, chunk / 2));
    QVERIFY(holds(file, chunk / 2, chunk / 2 + chunk, 0.25));
  }

  void moves() {
    QTemporaryDir folder;
    ColumnFile one(columns, folder.path());
    append(one, chunk + 3);
    ColumnFile other(std::move(one));
    QVERIFY(holds(other, 0, chunk + 3));
    ColumnFile third(columns);
    append(third, 5, 0.5);
    third = std::move(other);
    QCOMPARE(third.rows(), chunk + 3);
    QVERIFY(holds(third, 0, chunk + 3));
  }
};

QTEST_GUILESS_MAIN(TestColumnFile)
#include "test_column_file.moc"
