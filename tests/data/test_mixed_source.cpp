// Sources drawn from by weight: at every place each has had its share to within one row; each keeps its own order; and
// a mixture is the same whether its sources are there from the beginning or not, and wherever it is resumed.
#include "data/mixed_source.h"
#include "support/shard_folder.h"

#include <QTest>
#include <cmath>
#include <map>
#include <numeric>

using namespace millrace;
using namespace millrace::test;

namespace {

constexpr std::int64_t context = 16;
constexpr std::uint64_t seed = 3;

using Weights = std::vector<double>;

} // namespace
Q_DECLARE_METATYPE(Weights)

class TestMixedSource : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void sharesAtEveryPlace_data();
  void sharesAtEveryPlace();
  void sharesOfManyWeights();
  void eachKeepsItsOrder();
  void growingEqualsComplete();
  void resumesAnywhere();
  void failuresLeaveItWhereItWas();

 private:
  std::unique_ptr<PackedSource> source(std::shared_ptr<const ShardSeries> series) const {
    return std::make_unique<PackedSource>(std::move(series), context, 0, seed);
  }
  MixedSource mixture(std::vector<std::shared_ptr<ShardSeries>> series) const {
    std::vector<std::unique_ptr<PackedSource>> sources;
    for (auto& one : series) sources.push_back(source(std::move(one)));
    return MixedSource(std::move(sources), m_weights);
  }

  const Weights m_weights = {6, 3, 1};
  ShardFolder m_large{5, 1}, m_middle{2, 2}, m_small{1, 3};
};

void TestMixedSource::sharesAtEveryPlace_data() {
  QTest::addColumn<Weights>("weights");
  QTest::newRow("one") << Weights{3};
  QTest::newRow("halves") << Weights{1, 1};
  QTest::newRow("seven to three") << Weights{0.7, 0.3};
  QTest::newRow("one far above") << Weights{1e6, 1, 1};
  QTest::newRow("thirteen equal") << Weights(13, 0.1);
  QTest::newRow("falling") << Weights{16, 8, 4, 2, 1, 1};
}

void TestMixedSource::sharesAtEveryPlace() {
  QFETCH(Weights, weights);
  Interleaving order(weights);
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<std::int64_t> taken(weights.size());
  for (std::int64_t turn = 1; turn <= 20000; ++turn) {
    ++taken[order.next()];
    for (std::size_t i = 0; i < weights.size(); ++i)
      QVERIFY(std::abs(static_cast<double>(taken[i]) - weights[i] / sum * static_cast<double>(turn)) < 1);
  }
  QVERIFY(taken == order.taken());
}

void TestMixedSource::sharesOfManyWeights() {
  Random random(1, "weights");
  for (int round = 0; round < 300; ++round) {
    Weights weights(1 + random.below(8));
    for (double& weight : weights) weight = std::pow(random.uniform(), 3) + 1e-3;
    Interleaving order(weights);
    for (int turn = 1; turn <= 500; ++turn) {
      order.next();
      for (std::size_t i = 0; i < weights.size(); ++i)
        QVERIFY(std::abs(static_cast<double>(order.taken()[i]) - order.shares()[i] * turn) < 1);
    }
  }
}

void TestMixedSource::eachKeepsItsOrder() {
  MixedSource mixed = mixture({m_large.all(), m_middle.all(), m_small.all()});
  const std::unique_ptr<PackedSource> alone[] = {source(m_large.all()), source(m_middle.all()), source(m_small.all())};
  QCOMPARE(mixed.rowsPerEpoch(), alone[0]->rowsPerEpoch() + alone[1]->rowsPerEpoch() + alone[2]->rowsPerEpoch());
  Interleaving order(m_weights);
  const std::int64_t rows = 9 * alone[2]->rowsPerEpoch() * 3; // the small one comes round
  for (std::int64_t i = 0; i < rows; ++i) {
    const MicroBatch expected = valueOrThrow(alone[order.next()]->next(1));
    const MicroBatch batch = valueOrThrow(mixed.next(1));
    QVERIFY(batch.tokens == expected.tokens && batch.targets == expected.targets);
  }
  for (std::size_t i = 0; i < 3; ++i) {
    const double passes = static_cast<double>(order.taken()[i]) / static_cast<double>(alone[i]->rowsPerEpoch());
    QVERIFY(std::abs(mixed.passes()[i] - passes) < 1e-9);
  }
  QVERIFY(mixed.passes()[2] > 2);
}

void TestMixedSource::growingEqualsComplete() {
  MixedSource complete = mixture({m_large.all(), m_middle.all(), m_small.all()});
  const auto large = m_large.series(1);
  const auto middle = m_middle.series();
  MixedSource growing = mixture({large, middle, m_small.all()});
  growing.setWaiting([&](const DataProgress&) {
    if (!large->complete()) m_large.addNext(*large);
    if (!middle->complete()) m_middle.addNext(*middle);
    return true;
  });
  for (std::int64_t i = 0; i < complete.rowsPerEpoch(); ++i)
    QVERIFY(valueOrThrow(complete.next(2)).tokens == valueOrThrow(growing.next(2)).tokens);
}

void TestMixedSource::resumesAnywhere() {
  MixedSource whole = mixture({m_large.all(), m_middle.all(), m_small.all()});
  MixedSource other = mixture({m_large.all(), m_middle.all(), m_small.all()});
  for (std::int64_t i = 0; i < whole.rowsPerEpoch(); ++i) {
    QVERIFY(other.seek(whole.cursor()).has_value());
    QVERIFY(other.cursor() == whole.cursor());
    QVERIFY(valueOrThrow(other.next(3)).tokens == valueOrThrow(whole.next(3)).tokens);
  }
  QVERIFY(!other.seek({1, 0}).has_value() && !other.seek({0, -1}).has_value());
}

void TestMixedSource::failuresLeaveItWhereItWas() {
  const auto large = m_large.series(1);
  MixedSource mixed = mixture({large, m_middle.all(), m_small.all()});
  mixed.setWaiting([](const DataProgress&) { return false; });
  MixedSource complete = mixture({m_large.all(), m_middle.all(), m_small.all()});
  Result<MicroBatch> batch = mixed.next(7);
  while (batch) {
    QVERIFY(batch->tokens == valueOrThrow(complete.next(7)).tokens);
    batch = mixed.next(7);
  }
  QCOMPARE(batch.error().kind, ErrorKind::Interrupted);
  QVERIFY(mixed.cursor() == complete.cursor());
  while (!large->complete()) m_large.addNext(*large);
  for (int i = 0; i < 20; ++i) QVERIFY(valueOrThrow(mixed.next(7)).tokens == valueOrThrow(complete.next(7)).tokens);
}

QTEST_GUILESS_MAIN(TestMixedSource)
#include "test_mixed_source.moc"
