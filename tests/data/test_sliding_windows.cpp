// Windows over a text: every token but the first is a target once, of as much text before it as the windows show.
#include "data/sliding_windows.h"

#include <QTest>
#include <numeric>

using namespace millrace;

class TestSlidingWindows : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void everyTargetOnce_data();
  void everyTargetOnce();
  void tooShort();
};

void TestSlidingWindows::everyTargetOnce_data() {
  QTest::addColumn<int>("length");
  QTest::addColumn<int>("context");
  QTest::addColumn<int>("stride");
  for (const int length : {2, 9, 10, 11, 37, 40, 41})
    for (const auto& [context, stride] : {std::pair{10, 1}, {10, 4}, {10, 5}, {10, 9}, {10, 10}, {3, 2}, {100, 50}})
      QTest::addRow("%d tokens, context %d, stride %d", length, context, stride) << length << context << stride;
}

void TestSlidingWindows::everyTargetOnce() {
  QFETCH(int, length);
  QFETCH(int, context);
  QFETCH(int, stride);
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(length));
  std::iota(tokens.begin(), tokens.end(), 1); // a token tells where it stands
  const SlidingWindows windows(tokens, context, stride);
  std::vector<int> seen(tokens.size() + 1);
  const auto rows = static_cast<int>(windows.windows());
  const MicroBatch batch = windows.batch(0, rows);
  for (int row = 0; row < rows; ++row) {
    const int begin = row * stride;
    for (int t = 0; t < context; ++t) {
      const auto at = static_cast<std::size_t>(row * context + t);
      const bool text = begin + t < length;
      QCOMPARE(batch.tokens[at], text ? begin + t + 1 : 0);
      QCOMPARE(batch.documentStart[at], text ? 0 : length - begin);
      QCOMPARE(batch.positions[at], t - batch.documentStart[at]);
      const std::int32_t target = batch.targets[at];
      if (target < 0) continue;
      QVERIFY(text && target == begin + t + 2);
      ++seen[static_cast<std::size_t>(target)];
      if (row > 0) QVERIFY(t + 1 >= context - stride);
    }
  }
  QVERIFY((rows - 1) * stride + context >= length && (rows == 1 || (rows - 2) * stride + context < length));
  for (int token = 1; token <= length; ++token) {
    const bool first = token == 1 || (stride == context && (token - 1) % context == 0);
    QCOMPARE(seen[static_cast<std::size_t>(token)], first ? 0 : 1);
  }
  if (rows > 1)
    QVERIFY(windows.batch(1, 1).tokens ==
            std::vector<std::int32_t>(batch.tokens.begin() + context, batch.tokens.begin() + 2 * context));
}

void TestSlidingWindows::tooShort() {
  QCOMPARE(SlidingWindows({}, 10, 5).windows(), std::int64_t{0});
  QCOMPARE(SlidingWindows({7}, 10, 5).windows(), std::int64_t{0});
}

QTEST_GUILESS_MAIN(TestSlidingWindows)
#include "test_sliding_windows.moc"
