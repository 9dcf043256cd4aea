// Rows hold what a slow and simple way of laying documents end to end gives: tokens, targets (of what is learnt alone),
// positions and beginnings of documents.
#include "data/packed_rows.h"
#include "support/memory_file_system.h"
#include "support/token_documents.h"

#include <QTest>

using namespace millrace;
using namespace millrace::test;

class TestPackedRows : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void asLaidEndToEnd_data();
  void asLaidEndToEnd();
};

void TestPackedRows::asLaidEndToEnd_data() {
  QTest::addColumn<int>("context");
  QTest::addColumn<int>("longest");
  QTest::addColumn<bool>("pad");
  for (const int context : {1, 2, 7, 32, 100000})
    for (const int longest : {1, 5, 90})
      for (const bool pad : {false, true})
        QTest::addRow("context %d, documents up to %d, %s", context, longest, pad ? "padded" : "cut")
            << context << longest << pad;
}

void TestPackedRows::asLaidEndToEnd() {
  QFETCH(int, context);
  QFETCH(int, longest);
  QFETCH(bool, pad);
  MemoryFileSystem files;
  const auto documents = randomDocuments(60, 11, longest);
  QVERIFY(writeShard(files, "/shard", documents).has_value());
  std::vector<std::uint64_t> chosen;
  for (std::size_t i = 0; i < documents.size(); ++i)
    if (i % 4 != 1) chosen.push_back(i);
  constexpr std::int32_t padding = 999;
  const PackedRows rows(valueOrThrow(openShard(files, "/shard")), chosen, context, padding,
                        pad ? PackedRows::Tail::Pad : PackedRows::Tail::Drop);

  std::vector<std::int32_t> tokens, targets, positions, starts;
  const auto add = [&](std::int32_t token, std::int32_t target, bool begins) {
    const auto at = static_cast<std::int32_t>(tokens.size() % static_cast<std::size_t>(context));
    const bool anew = begins || at == 0;
    starts.push_back(anew ? at : starts.back());
    positions.push_back(at - starts.back());
    tokens.push_back(token);
    targets.push_back(target);
  };
  for (const std::uint64_t i : chosen) {
    const TokenDocument& document = documents[i];
    for (std::size_t t = 0; t < document.ids.size(); ++t) {
      bool learnt = document.facts.wholeLearnt;
      for (const TokenRange& range : document.facts.learnt)
        learnt = learnt || (t + 1 >= range.begin && t + 1 < range.end);
      const bool hasTarget = learnt && t + 1 < document.ids.size();
      add(document.ids[t], hasTarget ? document.ids[t + 1] : -1, t == 0);
    }
  }
  const auto total = static_cast<std::int64_t>(tokens.size());
  QCOMPARE(rows.tokens(), total);
  const bool keepsTail = pad || total < context;
  for (bool first = true; tokens.size() % static_cast<std::size_t>(context) != 0; first = false)
    add(padding, -1, first);
  QCOMPARE(rows.rows(), keepsTail ? (total + context - 1) / context : total / context);

  MicroBatch batch = makeMicroBatch(rows.rows(), context);
  for (std::int64_t row = rows.rows() - 1; row >= 0; --row) QVERIFY(rows.fill(row, batch, row).has_value());
  const std::size_t entries = batch.tokens.size();
  for (auto* expected : {&tokens, &targets, &positions, &starts}) expected->resize(entries);
  QVERIFY(batch.tokens == tokens);
  QVERIFY(batch.targets == targets);
  QVERIFY(batch.positions == positions);
  QVERIFY(batch.documentStart == starts);
}

QTEST_GUILESS_MAIN(TestPackedRows)
#include "test_packed_rows.moc"
