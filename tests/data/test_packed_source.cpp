// The order of training over shards: of one shard it is a plain shuffle; each epoch has every row once; and it is the
// same whether all shards are there from the beginning or come one after the other, and wherever it is resumed.
#include "data/packed_source.h"
#include "support/shard_folder.h"

#include <QTest>
#include <set>

using namespace millrace;
using namespace millrace::test;

namespace {

constexpr std::uint64_t seed = 7;
constexpr double heldBack = shardFolderHeldBack;

bool sameBatch(const MicroBatch& a, const MicroBatch& b) {
  return a.rows == b.rows && a.tokens == b.tokens && a.targets == b.targets && a.positions == b.positions &&
         a.documentStart == b.documentStart;
}

} // namespace

class TestPackedSource : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void oneShardIsAPlainShuffle();
  void shapes_data();
  void everyRowOnceAnEpoch_data() { shapes_data(); }
  void everyRowOnceAnEpoch();
  void growingEqualsComplete_data() { shapes_data(); }
  void growingEqualsComplete();
  void resumesAnywhere_data() { shapes_data(); }
  void resumesAnywhere();
  void firstRowsNeedOneShard();
  void givenUpWhileWaiting();
  void failureIsTold();
  void placesThatAreNone();
};

void TestPackedSource::shapes_data() {
  QTest::addColumn<int>("shards");
  QTest::addColumn<int>("context");
  for (const int shards : {1, 2, 3, 5, 11})
    for (const int context : {16, 100}) QTest::addRow("%d shards, context %d", shards, context) << shards << context;
  QTest::newRow("rows longer than shards") << 3 << 5000;
}

void TestPackedSource::oneShardIsAPlainShuffle() {
  ShardFolder shards(1);
  const auto series = shards.series(1);
  const auto shard = valueOrThrow(series->open(0));
  const PackedRows rows(shard, documentsOf(*shard, heldBack, DocumentChoice::Training), 16, 0, PackedRows::Tail::Drop);
  PackedSource source(series, 16, 0, seed);
  QCOMPARE(source.rowsPerEpoch(), rows.rows());
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    const Permutation order(static_cast<std::uint64_t>(rows.rows()), seed, epoch);
    for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(rows.rows()); ++i) {
      MicroBatch expected = makeMicroBatch(1, 16);
      QVERIFY(rows.fill(static_cast<std::int64_t>(order(i)), expected, 0).has_value());
      QVERIFY(sameBatch(valueOrThrow(source.next(1)), expected));
    }
    QVERIFY((source.cursor() == DataCursor{static_cast<std::int64_t>(epoch) + 1, 0}));
  }
}

void TestPackedSource::everyRowOnceAnEpoch() {
  QFETCH(int, shards);
  QFETCH(int, context);
  ShardFolder all(static_cast<std::size_t>(shards));
  const auto series = all.all();
  std::multiset<std::vector<std::int32_t>> expected;
  for (std::size_t i = 0; i < all.count(); ++i) {
    const auto shard = valueOrThrow(series->open(i));
    const PackedRows rows(shard, documentsOf(*shard, heldBack, DocumentChoice::Training), context, 0,
                          PackedRows::Tail::Drop);
    for (std::int64_t row = 0; row < rows.rows(); ++row) {
      MicroBatch batch = makeMicroBatch(1, context);
      QVERIFY(rows.fill(row, batch, 0).has_value());
      expected.insert(batch.tokens);
    }
  }
  PackedSource source(series, context, 0, seed);
  QCOMPARE(source.rowsPerEpoch(), static_cast<std::int64_t>(expected.size()));
  std::vector<std::vector<std::vector<std::int32_t>>> orders(3);
  for (auto& order : orders) {
    for (std::size_t i = 0; i < expected.size(); ++i) order.push_back(valueOrThrow(source.next(1)).tokens);
    QVERIFY((std::multiset<std::vector<std::int32_t>>(order.begin(), order.end()) == expected));
  }
  if (expected.size() > 4) QVERIFY(orders[0] != orders[1] && orders[1] != orders[2]);
}

void TestPackedSource::growingEqualsComplete() {
  QFETCH(int, shards);
  QFETCH(int, context);
  ShardFolder all(static_cast<std::size_t>(shards));
  PackedSource complete(all.all(), context, 0, seed);
  const auto series = all.series();
  PackedSource growing(series, context, 0, seed);
  growing.setWaiting([&](const DataProgress&) {
    all.addNext(*series);
    return true;
  });
  const std::int64_t batches = complete.rowsPerEpoch() * 5 / 6 + 2; // over the end of the second epoch
  for (std::int64_t i = 0; i < batches; ++i)
    QVERIFY(sameBatch(valueOrThrow(complete.next(3)), valueOrThrow(growing.next(3))));
  QVERIFY(complete.cursor() == growing.cursor());
  QCOMPARE(growing.rowsPerEpoch(), complete.rowsPerEpoch());
}

void TestPackedSource::resumesAnywhere() {
  QFETCH(int, shards);
  QFETCH(int, context);
  ShardFolder all(static_cast<std::size_t>(shards));
  const auto series = all.all();
  PackedSource whole(series, context, 0, seed);
  for (std::int64_t i = 0; i < 2 * whole.rowsPerEpoch() + 1; ++i) {
    PackedSource resumed(series, context, 0, seed);
    const DataCursor cursor = whole.cursor();
    QVERIFY(resumed.seek(cursor).has_value());
    QVERIFY(resumed.cursor() == cursor);
    QVERIFY(sameBatch(valueOrThrow(resumed.next(2)), valueOrThrow(whole.next(2))));
    // Behind the last row of an epoch there is another name for the next one's beginning.
    if (whole.cursor().row == 0) {
      QVERIFY(resumed.seek({whole.cursor().epoch - 1, whole.rowsPerEpoch()}).has_value());
      QVERIFY(resumed.cursor() == whole.cursor());
    }
  }
}

void TestPackedSource::firstRowsNeedOneShard() {
  ShardFolder all(4);
  PackedSource source(all.series(1), 16, 0, seed);
  source.setWaiting([](const DataProgress&) { return false; });
  const auto shard = valueOrThrow(all.series()->open(0));
  const auto rows =
      PackedRows(shard, documentsOf(*shard, heldBack, DocumentChoice::Training), 16, 0, PackedRows::Tail::Drop).rows();
  for (std::int64_t i = 0; i < rows; ++i) QVERIFY(source.next(1).has_value());
  QVERIFY(!source.next(1).has_value());
  QCOMPARE(source.rowsPerEpoch(), std::int64_t{0});
}

void TestPackedSource::givenUpWhileWaiting() {
  ShardFolder all(2);
  const auto series = all.series(1);
  PackedSource source(series, 16, 0, seed);
  source.setWaiting([](const DataProgress&) { return false; });
  Result<MicroBatch> batch = source.next(4);
  DataCursor before = source.cursor();
  while (batch) {
    before = source.cursor();
    batch = source.next(4);
  }
  QCOMPARE(batch.error().kind, ErrorKind::Interrupted);
  QVERIFY(source.cursor() == before);
  all.addNext(*series);
  PackedSource complete(series, 16, 0, seed);
  QVERIFY(complete.seek(before).has_value());
  QVERIFY(sameBatch(valueOrThrow(source.next(4)), valueOrThrow(complete.next(4))));
}

void TestPackedSource::failureIsTold() {
  ShardFolder all(3);
  const auto series = all.series();
  PackedSource source(series, 16, 0, seed);
  source.setWaiting([&](const DataProgress&) {
    series->fail({ErrorKind::BadInput, "mails.jsonl:17: a row is broken"});
    return true;
  });
  const auto batch = source.next(1);
  QVERIFY(!batch.has_value());
  QCOMPARE(batch.error().message, std::string("mails.jsonl:17: a row is broken"));
  QCOMPARE(batch.error().kind, ErrorKind::BadInput);
}

void TestPackedSource::placesThatAreNone() {
  ShardFolder all(3);
  PackedSource source(all.all(), 16, 0, seed);
  QVERIFY(source.next(5).has_value());
  const DataCursor before = source.cursor();
  const std::int64_t rows = source.rowsPerEpoch();
  for (const DataCursor& cursor :
       {DataCursor{-1, 0}, DataCursor{0, -1}, DataCursor{0, rows + 1}, DataCursor{4, rows + 1}}) {
    const Status sought = source.seek(cursor);
    QVERIFY(!sought.has_value() && sought.error().kind == ErrorKind::BadInput);
    QVERIFY(source.cursor() == before);
  }
  QVERIFY(!source.next(0).has_value());
}

QTEST_GUILESS_MAIN(TestPackedSource)
#include "test_packed_source.moc"
