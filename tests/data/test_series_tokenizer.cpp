// Shards are the same bytes whether sources are tokenized in one go, with interruptions, on one thread or several, or
// where damaged ones are made anew; and sources that change meanwhile are refused.
#include "data/dataset.h"
#include "data/format_detection.h"
#include "support/faulty_file_system.h"
#include "support/memory_file_system.h"

#include "base/atomic_file.h"

#include <QTest>
#include <fmt/format.h>
#include <map>
#include <set>

using namespace millrace;
using namespace millrace::test;

namespace {

constexpr ShardLimits smallShards{400, 1 << 18, 1 << 20};
constexpr double heldBack = 0.2;

std::string documentText(int i) {
  std::string text;
  for (int word = 0; word <= i * 7 % 60; ++word) text += fmt::format("word{} ", (i * 31 + word * word) % 97);
  return text;
}

} // namespace

class TestSeriesTokenizer : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void initTestCase();
  void init();
  void cutsWhereFull();
  void threadsAndPaceChangeNothing();
  void interruptedAnywhere();
  void damagedOnesAreMadeAnew();
  void goesOnWithCountsAndBadRows();
  void changedSources_data();
  void changedSources();
  void identities();
  void nothingToLearnFrom();

 private:
  std::vector<SourcePattern> patterns() const {
    std::vector<SourcePattern> all(4);
    all[0].path = "/data/a.jsonl";
    all[1].path = "/data/b.txt";
    all[1].how.separator = "%";
    all[2].path = "/data/c.jsonl";
    all[3].path = "/data/chats.jsonl";
    return all;
  }
  SeriesTask task(FileSystem& files, std::int64_t badRows = 100);
  /// All shards; by name, their bytes.
  std::map<std::string, std::string> contents();
  Status tokenizeAll(FileSystem& files, int threads = 2, bool hurried = true);
  void clearCache() { QVERIFY(m_files.remove("/cache").has_value()); }

  MemoryFileSystem m_files;
  Log m_log;
  std::unique_ptr<Tokenizer> m_tokenizer;
  std::map<std::string, std::string> m_whole;
};

void TestSeriesTokenizer::initTestCase() {
  QVERIFY(m_files.createDirectories("/data").has_value());
  init();
  ThreadPool pool(1);
  DataSpec spec;
  spec.sources = patterns();
  BpeTrainerOptions options;
  options.vocabularySize = 300;
  m_tokenizer = std::make_unique<Tokenizer>(
      valueOrThrow(Tokenizer::parse(valueOrThrow(trainTokenizer(m_files, pool, m_log, spec, options)), "trained")));
  const Status made = tokenizeAll(m_files);
  QVERIFY2(made.has_value(), made ? "" : made.error().message.c_str());
  m_whole = contents();
}

void TestSeriesTokenizer::init() {
  const auto lines = [](int first, int last) {
    std::string text;
    for (int i = first; i < last; ++i) {
      text += fmt::format("{{\"text\": \"{}\"}}\n", documentText(i));
      if (i % 11 == 3) text += "{\"text\": \"\"}\n{broken\n";
      if (i % 13 == 5) text += "\n";
    }
    return text;
  };
  std::string documents;
  for (int i = 200; i < 230; ++i) documents += documentText(i) + "\n%\n";
  QVERIFY(writeTextFile(m_files, "/data/a.jsonl", lines(0, 60)).has_value());
  QVERIFY(writeTextFile(m_files, "/data/b.txt", documents).has_value());
  QVERIFY(writeTextFile(m_files, "/data/c.jsonl", lines(100, 120)).has_value());
  // Conversations that become several documents each.
  std::string chats;
  for (int i = 0; i < 20; ++i) {
    Json messages = Json::array();
    for (int turn = 0; turn < 8; ++turn)
      messages.push_back({{"role", turn % 2 == 0 ? "user" : "assistant"}, {"content", documentText(300 + i + turn)}});
    chats += Json{{"messages", messages}, {"meta", {{"pile_set_name", i % 2 == 0 ? "even" : "odd"}}}}.dump() + "\n";
  }
  QVERIFY(writeTextFile(m_files, "/data/chats.jsonl", chats).has_value());
  clearCache();
}

SeriesTask TestSeriesTokenizer::task(FileSystem& files, std::int64_t badRows) {
  SeriesTask task;
  task.sources = valueOrThrow(findSourceFiles(files, patterns(), m_log));
  valueOrThrow(detectFormats(files, task.sources));
  ChatSpec chat;
  chat.chatTemplate.builtIn = "plain";
  chat.overLong = OverLong::Split;
  chat.context = 300;
  task.chat =
      std::make_shared<const ConversationTokens>(valueOrThrow(ConversationTokens::create(files, chat, *m_tokenizer)));
  task.identity = valueOrThrow(identifySources(files, task.sources, {}));
  task.series = std::make_shared<ShardSeries>(files, "/cache", std::string(32, 'k'), 300, heldBack);
  task.badRowLimit = badRows;
  task.limits = smallShards;
  task.endOfText = *m_tokenizer->endOfText();
  return task;
}

std::map<std::string, std::string> TestSeriesTokenizer::contents() {
  std::map<std::string, std::string> all;
  for (const std::string& name : valueOrThrow(m_files.list("/cache")))
    all[name] = valueOrThrow(readTextFile(m_files, Path("/cache") / name));
  return all;
}

Status TestSeriesTokenizer::tokenizeAll(FileSystem& files, int threads, bool hurried) {
  ThreadPool pool(threads);
  SeriesTokenizer tokenizer(pool, m_log, *m_tokenizer, task(files), [=] { return hurried; });
  for (;;) {
    MILLRACE_TRY(const bool more, tokenizer.next([] { return false; }));
    if (!more) return {};
  }
}

void TestSeriesTokenizer::cutsWhereFull() {
  QVERIFY(m_whole.size() > 5);
  ThreadPool pool(2);
  SeriesTask work = task(m_files);
  const auto series = work.series;
  const auto sources = work.sources;
  const auto chat = work.chat;
  SeriesTokenizer tokenizer(pool, m_log, *m_tokenizer, std::move(work), {});
  while (valueOrThrow(tokenizer.next([] { return false; }))) QVERIFY(!series->complete());
  QVERIFY(series->complete() && series->shards() == m_whole.size());

  // The same documents, one after the other, as a stream without shards gives.
  PacedPool paced(pool);
  TokenStream stream(m_files, paced, m_log, sources, 100, *m_tokenizer, chat, *m_tokenizer->endOfText(), {}, {});
  std::int64_t documents = 0, parts = 0; // of plain text, of conversations
  std::set<std::uint64_t> conversations;
  for (std::size_t s = 0; s < series->shards(); ++s) {
    const auto shard = valueOrThrow(series->open(s));
    QCOMPARE(shard->place().last, s + 1 == series->shards());
    const std::size_t count = shard->documents().size();
    const auto lastDocument = static_cast<std::int64_t>(shard->documents().back().firstToken);
    // What one conversation gives stays in one shard.
    QVERIFY(lastDocument < smallShards.tokens + (shard->documents().back().set == 0 ? 0 : 1000));
    if (!shard->place().last) QVERIFY(shard->tokens() >= smallShards.tokens);
    for (std::size_t i = 0; i < count; ++i) {
      const TokenPiece* piece = valueOrThrow(stream.peek());
      QVERIFY(piece && piece->first && piece->last);
      std::vector<std::int32_t> ids(static_cast<std::size_t>(shard->length(i)));
      QVERIFY(shard->read(static_cast<std::int64_t>(shard->documents()[i].firstToken), ids).has_value());
      QVERIFY(ids == piece->ids);
      const CachedDocument& document = shard->documents()[i];
      QCOMPARE(shard->setNames()[document.set], piece->set);
      if (document.set == 0) {
        QCOMPARE(ids.back(), *m_tokenizer->endOfText());
        ++documents;
      } else {
        const auto learnt = shard->learnt(i);
        QVERIFY(std::equal(learnt.begin(), learnt.end(), piece->facts.learnt.begin(), piece->facts.learnt.end()));
        QVERIFY(!learnt.empty());
        conversations.insert(document.hash);
        ++parts;
      }
      QCOMPARE(shard->documents()[i].hash, piece->facts.hash);
      stream.pop();
    }
  }
  QVERIFY(valueOrThrow(stream.peek()) == nullptr);
  QCOMPARE(documents, std::int64_t{110});
  QCOMPARE(conversations.size(), std::size_t{20});
  QVERIFY(parts > 40);
  QCOMPARE(series->counts().conversations.split, std::int64_t{20});
  QCOMPARE(series->total().documents, documents + parts);
  QCOMPARE(series->counts().badRows, std::int64_t{8});
  QVERIFY(series->counts() == stream.counts());
}

void TestSeriesTokenizer::threadsAndPaceChangeNothing() {
  for (const auto& [threads, hurried] : {std::pair{1, true}, {3, true}, {1, false}, {4, false}}) {
    clearCache();
    QVERIFY(tokenizeAll(m_files, threads, hurried).has_value());
    QVERIFY(contents() == m_whole);
  }
}

void TestSeriesTokenizer::interruptedAnywhere() {
  ThreadPool pool(1);
  bool ended = false;
  for (int attempt = 1; !ended; attempt += 9) {
    clearCache();
    SeriesTokenizer first(pool, m_log, *m_tokenizer, task(m_files), {});
    int asked = 0;
    for (;;) {
      const auto more = first.next([&] { return ++asked > attempt; });
      if (more && *more) continue;
      ended = more.has_value();
      if (!more) QCOMPARE(more.error().kind, ErrorKind::Interrupted);
      break;
    }
    for (const auto& [name, bytes] : m_files.exists("/cache") ? contents() : std::map<std::string, std::string>{})
      QVERIFY2(m_whole.at(name) == bytes, name.c_str());
    QVERIFY(tokenizeAll(m_files).has_value());
    QVERIFY(contents() == m_whole);
  }
}

void TestSeriesTokenizer::damagedOnesAreMadeAnew() {
  for (const auto& [name, bytes] : m_whole) {
    clearCache();
    QVERIFY(tokenizeAll(m_files).has_value());
    const Path path = Path("/cache") / name;
    std::string damaged = bytes;
    damaged[damaged.size() / 3] ^= 4;
    QVERIFY(writeTextFile(m_files, path, damaged).has_value());
    QVERIFY(tokenizeAll(m_files).has_value());
    QVERIFY(contents() == m_whole);
    // A good shard in another's place.
    QVERIFY(writeTextFile(m_files, path, m_whole.rbegin()->second).has_value());
    QVERIFY(tokenizeAll(m_files).has_value());
    QVERIFY(contents() == m_whole);
    QVERIFY(m_files.remove(path).has_value());
    QVERIFY(tokenizeAll(m_files).has_value());
    QVERIFY(contents() == m_whole);
  }
}

void TestSeriesTokenizer::goesOnWithCountsAndBadRows() {
  ThreadPool pool(1);
  for (const std::int64_t limit : {7, 8}) {
    clearCache();
    bool failed = false;
    // One shard, then another tokenizer, as after a stop.
    for (bool more = true; more && !failed;) {
      SeriesTask work = task(m_files, limit);
      const auto series = work.series;
      SeriesTokenizer tokenizer(pool, m_log, *m_tokenizer, std::move(work), {});
      const std::size_t before = m_files.exists("/cache") ? contents().size() : 0;
      while (more && !failed && series->shards() <= before) {
        const auto got = tokenizer.next([] { return false; });
        failed = !got;
        if (failed) {
          QVERIFY(got.error().message.find("/data/c.jsonl:") == 0);
          QVERIFY(got.error().message.ends_with("that is unusable row 8, and the limit is 7 (data.bad_rows)"));
        }
        more = got.value_or(false);
      }
      if (!more && !failed) QCOMPARE(series->counts().badRows, std::int64_t{8});
    }
    QCOMPARE(failed, limit == 7);
  }
}

void TestSeriesTokenizer::changedSources_data() {
  QTest::addColumn<QString>("file");
  QTest::addColumn<bool>("sampled");
  for (const char* file : {"/data/a.jsonl", "/data/b.txt", "/data/c.jsonl", "/data/chats.jsonl"})
    for (const bool sampled : {false, true})
      QTest::addRow("%s, known by %s", file, sampled ? "samples" : "contents") << file << sampled;
}

/// The file changes when some shards are made.
void TestSeriesTokenizer::changedSources() {
  QFETCH(QString, file);
  QFETCH(bool, sampled);
  ThreadPool pool(1);
  SeriesTask work = task(m_files);
  work.identity = valueOrThrow(identifySources(m_files, work.sources, {}, sampled ? 0 : wholeIdentityLimit));
  SeriesTokenizer tokenizer(pool, m_log, *m_tokenizer, std::move(work), {});
  QVERIFY(tokenizer.next([] { return false; }).has_value());
  std::string text = valueOrThrow(readTextFile(m_files, file.toStdString()));
  text.back() = ' ';
  auto opened = valueOrThrow(m_files.open(file.toStdString(), OpenMode::ReadWrite));
  QVERIFY(opened->write(std::as_bytes(std::span(text)), 0).has_value());
  Result<bool> more = true;
  while (more && *more) more = tokenizer.next([] { return false; });
  QVERIFY(!more.has_value());
  QVERIFY2(more.error().message.find(file.toStdString() + ": changed") == 0, more.error().message.c_str());
}

void TestSeriesTokenizer::identities() {
  const auto idOf = [&](Bytes limit) {
    return valueOrThrow(identifySources(m_files, valueOrThrow(findSourceFiles(m_files, patterns(), m_log)), {}, limit));
  };
  const auto whole = idOf(wholeIdentityLimit);
  const auto sampled = idOf(0);
  QVERIFY(whole.hash != sampled.hash);
  QCOMPARE(whole.bytes, sampled.bytes);
  // The same contents at another time.
  const std::string text = valueOrThrow(readTextFile(m_files, "/data/b.txt"));
  auto file = valueOrThrow(m_files.open("/data/b.txt", OpenMode::ReadWrite));
  QVERIFY(file->write(std::as_bytes(std::span(text)), 0).has_value());
  QCOMPARE(idOf(wholeIdentityLimit).hash, whole.hash);
  QVERIFY(idOf(0).hash != sampled.hash);
  // Large files: every byte of the samples counts, the first and the last among them.
  std::string large(4 * MiB + 12345, 'x');
  std::set<std::string> seen;
  for (const std::size_t at : {std::size_t{0}, large.size() - 1, large.size() + 1}) {
    std::string changed = large;
    if (at < large.size()) changed[at] = 'y';
    MemoryFileSystem files;
    QVERIFY(writeTextFile(files, "/l.txt", changed).has_value());
    seen.insert(
        valueOrThrow(identifySources(files, {{"/l.txt", RecordLayout::Text, {DataFormat::Text, "", "", {}}}}, {}, 0))
            .hash);
  }
  QCOMPARE(seen.size(), std::size_t{3});
}

void TestSeriesTokenizer::nothingToLearnFrom() {
  for (const char* file : {"/data/a.jsonl", "/data/b.txt", "/data/c.jsonl", "/data/chats.jsonl"})
    QVERIFY(writeTextFile(m_files, file, "\n").has_value());
  const Status outcome = tokenizeAll(m_files);
  QVERIFY(!outcome.has_value());
  QVERIFY(outcome.error().message.find("no data") == 0);
  QVERIFY(contents().empty());
}

QTEST_GUILESS_MAIN(TestSeriesTokenizer)
#include "test_series_tokenizer.moc"
