// Sampling from logits: the distribution, what top-k and top-p leave, seeds, ties, and logits that are no numbers.
#include "train/sampler.h"

#include <QTest>
#include <cmath>
#include <limits>
#include <set>

using namespace millrace;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

std::vector<std::int64_t> drawn(const std::vector<float>& logits, const SamplerOptions& options, std::uint64_t seed,
                                int count) {
  Sampler sampler(options, seed);
  std::vector<std::int64_t> times(logits.size(), 0);
  for (int i = 0; i < count; ++i) ++times[static_cast<std::size_t>(*sampler.sample(logits))];
  return times;
}

std::set<std::size_t> seen(const std::vector<float>& logits, const SamplerOptions& options) {
  std::set<std::size_t> tokens;
  const std::vector<std::int64_t> times = drawn(logits, options, 3, 4000);
  for (std::size_t i = 0; i < times.size(); ++i)
    if (times[i] > 0) tokens.insert(i);
  return tokens;
}

} // namespace

class TestSampler : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void likeliest();
  void distribution_data();
  void distribution();
  void topK();
  void topP();
  void topKThenTopP();
  void seeds();
  void ruledOut();
  void extremes();
  void notFinite_data();
  void notFinite();
  void options_data();
  void options();
};

void TestSampler::likeliest() {
  Sampler sampler({0, 0, 1}, 1);
  QCOMPARE(*sampler.sample(std::vector<float>{0.5f, 2.0f, -1.0f}), 1);
  QCOMPARE(*sampler.sample(std::vector<float>{3.0f, 1.0f, 3.0f}), 0); // of equal ones the first
  QCOMPARE(*sampler.sample(std::vector<float>{-infinity, -5.0f}), 1);
  QCOMPARE(*sampler.sample(std::vector<float>{7.0f}), 0);
}

void TestSampler::distribution_data() {
  QTest::addColumn<double>("temperature");
  QTest::newRow("1") << 1.0;
  QTest::newRow("0.5") << 0.5;
  QTest::newRow("3") << 3.0;
}

void TestSampler::distribution() {
  QFETCH(double, temperature);
  const std::vector<float> logits{1.0f, -0.5f, 0.25f, 2.0f, -3.0f, 2.0f};
  constexpr int count = 60000;
  const std::vector<std::int64_t> times = drawn(logits, {temperature, 0, 1}, 11, count);
  double total = 0;
  for (const float logit : logits) total += std::exp(static_cast<double>(logit) / temperature);
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const double p = std::exp(static_cast<double>(logits[i]) / temperature) / total;
    const double deviation = std::sqrt(p * (1 - p) * count);
    QVERIFY(std::abs(static_cast<double>(times[i]) - p * count) < 4.5 * deviation + 1);
  }
}

void TestSampler::topK() {
  const std::vector<float> logits{0.1f, 0.4f, 0.3f, 0.4f, 0.2f, 0.4f};
  QCOMPARE(seen(logits, {1, 1, 1}), (std::set<std::size_t>{1}));
  QCOMPARE(seen(logits, {1, 2, 1}), (std::set<std::size_t>{1, 3})); // of equal ones the first
  QCOMPARE(seen(logits, {1, 4, 1}), (std::set<std::size_t>{1, 2, 3, 5}));
  QCOMPARE(seen(logits, {1, 100, 1}).size(), std::size_t{6});
}

void TestSampler::topP() {
  // Probabilities 0.5, 0.25, 0.125, 0.125.
  const std::vector<float> logits{std::log(0.125f), std::log(0.5f), std::log(0.125f), std::log(0.25f)};
  QCOMPARE(seen(logits, {1, 0, 0.01}), (std::set<std::size_t>{1}));
  QCOMPARE(seen(logits, {1, 0, 0.45}), (std::set<std::size_t>{1}));
  QCOMPARE(seen(logits, {1, 0, 0.6}), (std::set<std::size_t>{1, 3}));
  QCOMPARE(seen(logits, {1, 0, 0.8}), (std::set<std::size_t>{0, 1, 3})); // of equal ones the first
  QCOMPARE(seen(logits, {1, 0, 0.99}).size(), std::size_t{4});
  const std::vector<std::int64_t> times = drawn(logits, {1, 0, 0.6}, 4, 30000);
  QVERIFY(std::abs(static_cast<double>(times[1]) / 30000 - 2.0 / 3.0) < 0.02);
}

/// top-p counts the probabilities of what top-k left.
void TestSampler::topKThenTopP() {
  const std::vector<float> logits{std::log(0.4f), std::log(0.3f), std::log(0.2f), std::log(0.1f)};
  QCOMPARE(seen(logits, {1, 2, 0.5}), (std::set<std::size_t>{0})); // 0.4 of 0.7 is more than half
  QCOMPARE(seen(logits, {1, 0, 0.5}), (std::set<std::size_t>{0, 1}));
}

void TestSampler::seeds() {
  const std::vector<float> logits(50, 0.0f);
  const auto sequence = [&](std::uint64_t seed) {
    Sampler sampler({1, 0, 1}, seed);
    std::vector<std::int32_t> tokens;
    for (int i = 0; i < 40; ++i) tokens.push_back(*sampler.sample(logits));
    return tokens;
  };
  QCOMPARE(sequence(5), sequence(5));
  QVERIFY(sequence(5) != sequence(6));
  // Options that leave everything change nothing.
  Sampler all({1, 0, 1}, 5), wide({1, 50, 1}, 5);
  for (int i = 0; i < 40; ++i) QCOMPARE(*all.sample(logits), *wide.sample(logits));
}

void TestSampler::ruledOut() {
  const std::vector<float> logits{-infinity, 0.0f, -infinity, 1.0f};
  QCOMPARE(seen(logits, {1, 0, 1}), (std::set<std::size_t>{1, 3}));
  QCOMPARE(seen(logits, {1, 3, 1}), (std::set<std::size_t>{1, 3}));
  QCOMPARE(seen(logits, {1, 0, 0.999999}), (std::set<std::size_t>{1, 3}));
}

void TestSampler::extremes() {
  const std::vector<float> logits{3e38f, -3e38f, 2.9e38f};
  QCOMPARE(seen(logits, {1, 0, 1}), (std::set<std::size_t>{0}));
  QCOMPARE(seen(logits, {1e-300, 0, 1}), (std::set<std::size_t>{0}));
  QCOMPARE(seen({1.0f, 2.0f, 3.0f}, {1e30, 0, 1}).size(), std::size_t{3});
}

void TestSampler::notFinite_data() {
  QTest::addColumn<float>("value");
  QTest::newRow("NaN") << std::numeric_limits<float>::quiet_NaN();
  QTest::newRow("infinity") << infinity;
}

void TestSampler::notFinite() {
  QFETCH(float, value);
  for (const double temperature : {0.0, 0.8}) {
    std::vector<float> logits(9, 0.5f);
    logits[6] = value;
    Sampler sampler({temperature, 3, 0.9}, 1);
    const auto token = sampler.sample(logits);
    QVERIFY(!token.has_value());
    QCOMPARE(token.error().kind, ErrorKind::Failed);
    QVERIFY(token.error().message.find("token 6") != std::string::npos);
  }
  Sampler sampler({1, 0, 1}, 1);
  QVERIFY(!sampler.sample(std::vector<float>(4, -infinity)).has_value());
}

void TestSampler::options_data() {
  QTest::addColumn<double>("temperature");
  QTest::addColumn<int>("topK");
  QTest::addColumn<double>("topP");
  QTest::addColumn<QString>("named");
  QTest::newRow("good") << 0.8 << 40 << 0.95 << "";
  QTest::newRow("limits") << 0.0 << 0 << 1.0 << "";
  QTest::newRow("negative temperature") << -0.1 << 0 << 1.0 << "temperature";
  QTest::newRow("NaN temperature") << std::nan("") << 0 << 1.0 << "temperature";
  QTest::newRow("infinite temperature") << HUGE_VAL << 0 << 1.0 << "temperature";
  QTest::newRow("negative top-k") << 1.0 << -1 << 1.0 << "top-k";
  QTest::newRow("top-p 0") << 1.0 << 0 << 0.0 << "top-p";
  QTest::newRow("top-p above 1") << 1.0 << 0 << 1.01 << "top-p";
  QTest::newRow("NaN top-p") << 1.0 << 0 << std::nan("") << "top-p";
}

void TestSampler::options() {
  QFETCH(double, temperature);
  QFETCH(int, topK);
  QFETCH(double, topP);
  QFETCH(QString, named);
  const Status status = checkSampler({temperature, topK, topP});
  QCOMPARE(status.has_value(), named.isEmpty());
  if (status) return;
  QCOMPARE(status.error().kind, ErrorKind::BadInput);
  QVERIFY(status.error().message.starts_with(named.toStdString()));
}

QTEST_GUILESS_MAIN(TestSampler)
#include "test_sampler.moc"
