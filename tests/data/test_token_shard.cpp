// A shard gives back what was written into it; whatever is changed in its file, or missing, is found when it is opened;
// and a writer that fails leaves nothing under its name.
#include "base/atomic_file.h"
#include "data/token_shard.h"
#include "support/faulty_file_system.h"
#include "support/memory_file_system.h"
#include "support/token_documents.h"

#include <QTemporaryDir>
#include <QTest>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace millrace;
using namespace millrace::test;

class TestTokenShard : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void givesBack_data();
  void givesBack();
  void everyChangeIsFound();
  void everyLengthIsFound();
  void hostileTables_data();
  void hostileTables();
  void otherKeyOrVocabulary();
  void faultsLeaveNothing();
  void abandonedOnesAreSwept();
  void fullByEachLimit();

 private:
  MemoryFileSystem m_files;
  const Path m_path = "/shard.tokens";
};

void TestTokenShard::givesBack_data() {
  QTest::addColumn<qint64>("vocabulary");
  QTest::newRow("two bytes a token") << qint64{1000};
  QTest::newRow("the most with two bytes") << qint64{65536};
  QTest::newRow("four bytes a token") << qint64{65537};
}

void TestTokenShard::givesBack() {
  QFETCH(qint64, vocabulary);
  auto documents = randomDocuments(50, 3, 40, 3);
  documents[7].ids.back() = static_cast<std::int32_t>(vocabulary) - 1;
  const ShardPlace place{4, false, {2, 77}, {1, 2, 3, 4, {5, 6, 7, 8}}};
  const std::vector<std::string> sets = {"", "Pile-CC", "Wikipedia (en)"};
  QVERIFY(writeShard(m_files, m_path, documents, place, sets, vocabulary).has_value());
  const auto opened = openShard(m_files, m_path, vocabulary);
  QVERIFY2(opened.has_value(), opened ? "" : opened.error().message.c_str());
  const TokenShard& shard = **opened;
  QCOMPARE(shard.documents().size(), documents.size());
  QVERIFY(shard.setNames() == sets);
  QCOMPARE(shard.place().index, std::uint64_t{4});
  QCOMPARE(shard.place().last, false);
  QVERIFY(shard.place().next == place.next && shard.place().counts == place.counts);
  for (std::size_t i = 0; i < documents.size(); ++i) {
    const CachedDocument& cached = shard.documents()[i];
    const DocumentFacts& facts = documents[i].facts;
    std::vector<std::int32_t> ids(static_cast<std::size_t>(shard.length(i)));
    QVERIFY(shard.read(static_cast<std::int64_t>(cached.firstToken), ids).has_value());
    QVERIFY(ids == documents[i].ids);
    QVERIFY(cached.hash == facts.hash && cached.textBytes == facts.textBytes && cached.set == facts.set);
    QCOMPARE(cached.wholeLearnt != 0, facts.wholeLearnt);
    const auto learnt = shard.learnt(i);
    QVERIFY(std::equal(learnt.begin(), learnt.end(), facts.learnt.begin(), facts.learnt.end()));
  }
  std::vector<std::int32_t> beyond(2);
  QVERIFY(!shard.read(shard.tokens() - 1, beyond).has_value());
}

void TestTokenShard::everyChangeIsFound() {
  QVERIFY(writeShard(m_files, m_path, randomDocuments(9, 1, 6, 2), {}, {"", "a"}).has_value());
  auto file = valueOrThrow(m_files.open(m_path, OpenMode::ReadWrite));
  const Bytes size = valueOrThrow(file->size());
  for (Bytes at = 0; at < size; ++at) {
    std::byte byte;
    QVERIFY(file->read(std::span(&byte, 1), at).has_value());
    for (const auto flipped : {byte ^ std::byte{1}, byte ^ std::byte{0x80}}) {
      QVERIFY(file->write(std::span(&flipped, 1), at).has_value());
      QVERIFY2(!openShard(m_files, m_path).has_value(), fmt::format("byte {}", at).c_str());
    }
    QVERIFY(file->write(std::span(&byte, 1), at).has_value());
  }
  QVERIFY(openShard(m_files, m_path).has_value());
}

void TestTokenShard::everyLengthIsFound() {
  QVERIFY(writeShard(m_files, m_path, randomDocuments(5, 1, 6)).has_value());
  auto file = valueOrThrow(m_files.open(m_path, OpenMode::ReadWrite));
  for (Bytes size = valueOrThrow(file->size()) - 1; size >= 0; --size) {
    QVERIFY(file->truncate(size).has_value());
    QVERIFY2(!openShard(m_files, m_path).has_value(), fmt::format("{} bytes", size).c_str());
  }
}

void TestTokenShard::hostileTables_data() {
  QTest::addColumn<QString>("what");
  for (const char* what : {"set without a name", "range behind the document", "empty range", "ranges that overlap",
                           "first name not empty", "no names"})
    QTest::newRow(what) << what;
}

/// Checksums are right here: a file of somebody who can compute them.
void TestTokenShard::hostileTables() {
  QFETCH(QString, what);
  auto documents = randomDocuments(4, 2, 6);
  documents[1].ids = {1, 2, 3, 4};
  DocumentFacts& facts = documents[1].facts;
  facts.wholeLearnt = false;
  facts.learnt = {{0, 2}, {3, 4}};
  std::vector<std::string> sets = {""};
  QVERIFY(writeShard(m_files, m_path, documents, {}, sets).has_value());
  QVERIFY(openShard(m_files, m_path).has_value());
  if (what == "set without a name") facts.set = 1;
  if (what == "range behind the document") facts.learnt = {{0, 5}};
  if (what == "empty range") facts.learnt = {{1, 1}};
  if (what == "ranges that overlap") facts.learnt = {{0, 3}, {2, 4}};
  if (what == "first name not empty") sets = {"a"};
  if (what == "no names") sets = {};
  QVERIFY(writeShard(m_files, m_path, documents, {}, sets).has_value());
  const auto opened = openShard(m_files, m_path);
  QVERIFY(!opened.has_value());
  QVERIFY(opened.error().message.find("/shard.tokens") == 0);
}

void TestTokenShard::otherKeyOrVocabulary() {
  QVERIFY(writeShard(m_files, m_path, randomDocuments(5, 1)).has_value());
  QVERIFY(!TokenShard::open(m_files, m_path, shardKey('b'), documentVocabulary).has_value());
  const auto smaller = TokenShard::open(m_files, m_path, shardKey(), 10);
  QVERIFY(!smaller.has_value());
  QVERIFY(smaller.error().message.find("the vocabulary has 10") != std::string::npos);
}

void TestTokenShard::faultsLeaveNothing() {
  FaultyFileSystem faulty(m_files);
  const auto documents = randomDocuments(20, 5);
  bool done = false;
  for (std::int64_t at = 0; !done; ++at) {
    QVERIFY(m_files.remove("/folder").has_value());
    QVERIFY(m_files.createDirectories("/folder").has_value());
    faulty.failAt(at, Fault::Error);
    const Status outcome = writeShard(faulty, "/folder/shard.tokens", documents);
    done = outcome.has_value();
    faulty.repair();
    const auto names = valueOrThrow(m_files.list("/folder"));
    // The last operation is the folder's flush, behind the rename.
    if (m_files.exists("/folder/shard.tokens")) {
      QVERIFY(openShard(m_files, "/folder/shard.tokens").has_value());
    } else {
      QVERIFY(!done && names.empty());
    }
  }
}

/// What a killed program left, when its process is gone and it has not been written to for an hour.
void TestTokenShard::abandonedOnesAreSwept() {
  QTemporaryDir temporary;
  LocalFileSystem files;
  const Path folder = temporary.path().toStdString();
  const pid_t gone = ::fork();
  if (gone == 0) ::_exit(0);
  QVERIFY(gone > 0 && ::waitpid(gone, nullptr, 0) == gone);
  const auto name = [](const char* stem, pid_t process) { return fmt::format("{}.tokens.{}.partial", stem, process); };
  const timespec longAgo[2] = {{1'000'000'000, 0}, {1'000'000'000, 0}};
  const auto left = [&](const std::string& file, bool old) {
    QVERIFY(writeTextFile(files, folder / file, "tokens").has_value());
    if (old) QCOMPARE(::utimensat(AT_FDCWD, (folder / file).c_str(), longAgo, 0), 0);
  };
  left(name("a", gone), true);
  const std::vector<std::string> stay{name("b", gone), name("c", ::getpid()), "d.tokens.0.partial", "e.partial",
                                      fmt::format("f.{}.tokens", gone)};
  for (const std::string& file : stay) left(file, file != stay[0]);
  QVERIFY(writeShard(files, folder / "g.tokens", randomDocuments(2, 1)).has_value());
  std::vector<std::string> names = valueOrThrow(files.list(folder));
  std::vector<std::string> expected = stay;
  expected.push_back("g.tokens");
  std::sort(names.begin(), names.end());
  std::sort(expected.begin(), expected.end());
  QCOMPARE(names, expected);
}

void TestTokenShard::fullByEachLimit() {
  TokenShardWriter writer = valueOrThrow(TokenShardWriter::create(m_files, m_path, shardKey(), documentVocabulary));
  const std::vector<std::int32_t> ids = {1, 2, 3};
  QVERIFY(!writer.full({1, 1, 1}));
  QVERIFY(writer.append(ids).has_value());
  writer.endDocument({});
  QVERIFY(writer.full({3, 9, 9}) && !writer.full({4, 9, 9}));
  QVERIFY(writer.full({9, 1, 9}) && !writer.full({9, 2, 9}));
  QVERIFY(writer.append(ids).has_value());
  DocumentFacts facts;
  facts.wholeLearnt = false;
  facts.learnt = {{0, 1}, {2, 3}};
  writer.endDocument(facts);
  QVERIFY(writer.full({99, 99, 2}) && !writer.full({99, 99, 3}));
}

QTEST_GUILESS_MAIN(TestTokenShard)
#include "test_token_shard.moc"
