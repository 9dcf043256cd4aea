// Where the bytes of a tier on disk lie: every byte has one place, in whole pages, and the directories share evenly.
#include "base/random.h"
#include "storage/tier_layout.h"

#include <QTest>
#include <map>

using namespace millrace;

namespace {

struct Piece {
  std::size_t shard = 0;
  Bytes offset = 0;
  Bytes bytes = 0;
};

std::vector<Piece> piecesOf(const TierLayout& layout, std::size_t range, Bytes first, Bytes bytes) {
  std::vector<Piece> pieces;
  layout.visit(range, first, bytes, [&](std::size_t shard, Bytes offset, Bytes length) {
    pieces.push_back({shard, offset, length});
  });
  return pieces;
}

} // namespace

class TestTierLayout : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void everyByteHasOnePlace_data() {
    QTest::addColumn<int>("directories");
    QTest::addColumn<Bytes>("shardBytes");
    QTest::addColumn<int>("ranges");
    QTest::addColumn<Bytes>("largest");
    for (const int directories : {1, 2, 3, 8}) {
      const auto row = [&](const char* name, Bytes shard, int ranges, Bytes largest) {
        QTest::addRow("%s, %d directories", name, directories) << directories << shard << ranges << largest;
      };
      row("nothing", 512 * MiB, 0, 1);
      row("one byte", 512 * MiB, 1, 1);
      row("many small", 512 * MiB, 300, 9000);
      row("one large", 64 * MiB, 1, 3 * GiB);
      row("large", 64 * MiB, 9, 200 * MiB);
      row("shards of a stripe", 4 * MiB, 20, 30 * MiB);
      row("shards below a stripe", 1, 20, 30 * MiB);
      row("shards of no whole stripes", 10 * MiB, 20, 30 * MiB);
    }
  }
  void everyByteHasOnePlace() {
    QFETCH(const int, directories);
    QFETCH(const Bytes, shardBytes);
    QFETCH(const int, ranges);
    QFETCH(const Bytes, largest);
    Random random(7, static_cast<std::uint64_t>(directories));
    std::vector<Bytes> bytes;
    Bytes wholePages = 0;
    for (int i = 0; i < ranges; ++i) {
      bytes.push_back(i == 0 ? largest : static_cast<Bytes>(random.below(static_cast<std::uint64_t>(largest) + 1)));
      wholePages += alignUp(bytes.back(), pageBytes);
    }
    const TierLayout layout(bytes, static_cast<std::size_t>(directories), shardBytes);
    QCOMPARE(layout.totalBytes(), wholePages + static_cast<Bytes>(layout.shards().size()) * TierLayout::headerBytes);

    std::vector<std::map<Bytes, Bytes>> taken(layout.shards().size()); // begin to end
    for (std::size_t range = 0; range < bytes.size(); ++range) {
      Bytes sum = 0;
      for (const Piece& piece : piecesOf(layout, range, 0, alignUp(bytes[range], pageBytes))) {
        QVERIFY(piece.bytes > 0 && piece.bytes % pageBytes == 0 && piece.offset % pageBytes == 0);
        QVERIFY(piece.offset >= TierLayout::headerBytes);
        QVERIFY(piece.offset + piece.bytes <= layout.shards()[piece.shard].bytes);
        QVERIFY(taken[piece.shard].emplace(piece.offset, piece.offset + piece.bytes).second);
        sum += piece.bytes;
      }
      QCOMPARE(sum, alignUp(bytes[range], pageBytes));
    }
    for (std::size_t shard = 0; shard < taken.size(); ++shard) { // without gaps, and to the end of the file
      Bytes at = TierLayout::headerBytes;
      for (const auto& [begin, end] : taken[shard]) {
        QCOMPARE(begin, at);
        at = end;
      }
      QCOMPARE(at, layout.shards()[shard].bytes);
      QVERIFY(layout.shards()[shard].bytes <= TierLayout::headerBytes + std::max(shardBytes, TierLayout::stripeBytes));
    }
    Bytes least = layout.directoryBytes(0), most = 0, sum = 0;
    for (std::size_t d = 0; d < layout.directories(); ++d) {
      least = std::min(least, layout.directoryBytes(d));
      most = std::max(most, layout.directoryBytes(d));
      sum += layout.directoryBytes(d);
    }
    QCOMPARE(sum, layout.totalBytes());
    QVERIFY(most - least <= TierLayout::stripeBytes + TierLayout::headerBytes);
  }

  /// A slice's pieces are the same bytes as the range's.
  void slicesLieWhereTheirRangeDoes() {
    const std::vector<Bytes> bytes = {5 * MiB + 123, 77 * MiB, 4096, 40 * MiB - 1};
    for (const std::size_t directories : {1, 3}) {
      const TierLayout layout(bytes, directories, 8 * MiB);
      const auto placeOf = [&](std::size_t range, Bytes byte) {
        const Piece piece = piecesOf(layout, range, byte, 1).front();
        return std::pair(piece.shard, piece.offset);
      };
      Random random(3, directories);
      for (int i = 0; i < 2000; ++i) {
        const auto range = static_cast<std::size_t>(random.below(bytes.size()));
        const auto first = static_cast<Bytes>(random.below(static_cast<std::uint64_t>(bytes[range])));
        const auto length = 1 + static_cast<Bytes>(random.below(static_cast<std::uint64_t>(bytes[range] - first)));
        Bytes at = first;
        for (const Piece& piece : piecesOf(layout, range, first, length)) {
          QCOMPARE(placeOf(range, at), std::pair(piece.shard, piece.offset));
          QCOMPARE(placeOf(range, at + piece.bytes - 1), std::pair(piece.shard, piece.offset + piece.bytes - 1));
          at += piece.bytes;
        }
        QCOMPARE(at, first + length);
      }
    }
  }

  /// What is read at once is spread over the drives, and a single drive is asked for it in one piece.
  void consecutiveStripesTakeTurns() {
    const std::vector<Bytes> bytes = {64 * MiB};
    const TierLayout two(bytes, 2, 512 * MiB);
    const auto pieces = piecesOf(two, 0, 0, bytes[0]);
    QCOMPARE(pieces.size(), std::size_t{16});
    for (std::size_t i = 0; i < pieces.size(); ++i) QCOMPARE(two.shards()[pieces[i].shard].directory, i % 2);
    QCOMPARE(piecesOf(TierLayout(bytes, 1, 512 * MiB), 0, 0, bytes[0]).size(), std::size_t{1});
  }
};

QTEST_APPLESS_MAIN(TestTierLayout)
#include "test_tier_layout.moc"
