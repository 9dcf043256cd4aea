// Softmax and cross-entropy with the gradient in place, against float64.
#include "device/cpu/ops/cross_entropy.h"
#include "device/cpu/ops/softcap.h"
#include "kernel_test.h"

#include <limits>

using namespace millrace;
using namespace millrace::test;

namespace {

using Values = std::vector<double>;
enum class Gradient { None, F32, BF16 };

struct Expected {
  Values loss, dLogits;
};

Expected reference(const Values& logits, const HostTensor& targets, std::int64_t vocabulary, double scale) {
  const std::int64_t rows = targets.count();
  Expected e{Values(static_cast<std::size_t>(rows)), Values(logits.size())};
  for (std::int64_t c = 0; c < rows; ++c) {
    const auto target = static_cast<std::int64_t>(targets.get(c));
    if (target < 0) continue;
    const auto row = static_cast<std::size_t>(c * vocabulary);
    double top = logits[row], sum = 0;
    for (std::int64_t i = 0; i < vocabulary; ++i) top = std::max(top, logits[row + static_cast<std::size_t>(i)]);
    for (std::int64_t i = 0; i < vocabulary; ++i) sum += std::exp(logits[row + static_cast<std::size_t>(i)] - top);
    e.loss[static_cast<std::size_t>(c)] = top - logits[row + static_cast<std::size_t>(target)] + std::log(sum);
    for (std::int64_t i = 0; i < vocabulary; ++i)
      e.dLogits[row + static_cast<std::size_t>(i)] =
          (std::exp(logits[row + static_cast<std::size_t>(i)] - top) / sum - (i == target ? 1 : 0)) * scale;
  }
  return e;
}

/// The bf16 gradients at the start of each row of fp32 logits.
TensorView narrowView(const HostTensor& logits) {
  TensorView view = logits.view();
  view.dtype = DType::BF16;
  view.strides[0] *= 2;
  return view;
}

} // namespace

class TestCrossEntropy : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void matches_data() {
    QTest::addColumn<std::int64_t>("rows");
    QTest::addColumn<std::int64_t>("vocabulary");
    QTest::addColumn<std::int64_t>("pad");
    QTest::addColumn<double>("spread");
    QTest::addColumn<int>("gradient");
    QTest::addColumn<int>("isa");
    const struct {
      std::int64_t rows, vocabulary, pad;
      double spread;
    } shapes[] = {{1, 1, 0, 1},    {4, 3, 0, 1},      {5, 37, 2, 3},     {3, 259, 0, 20},
                  {2, 5003, 1, 4}, {3, 50257, 0, 10}, {33, 1024, 64, 40}};
    const char* names[] = {"loss only", "fp32", "bf16"};
    for (const auto& s : shapes)
      for (int gradient = 0; gradient < 3; ++gradient)
        for (const cpu::Isa isa : {cpu::Isa::Baseline, cpu::Isa::Avx2, cpu::Isa::Avx512})
          QTest::addRow("%s %s %dx%d pad %d", nameOf(isa), names[gradient], static_cast<int>(s.rows),
                        static_cast<int>(s.vocabulary), static_cast<int>(s.pad))
              << s.rows << s.vocabulary << s.pad << s.spread << gradient << static_cast<int>(isa);
  }

  void matches() {
    QFETCH(std::int64_t, rows);
    QFETCH(std::int64_t, vocabulary);
    QFETCH(std::int64_t, pad);
    QFETCH(double, spread);
    QFETCH(int, gradient);
    QFETCH(int, isa);
    MILLRACE_NEED_ISA(static_cast<cpu::Isa>(isa));
    const float scale = 0.037f;
    Random random(9, static_cast<std::uint64_t>(vocabulary));
    HostTensor logits = HostTensor(DType::F32, {rows, vocabulary}, pad).fillNormal(random, spread, -2);
    HostTensor targets(DType::I32, {rows}), loss(DType::F32, {rows});
    for (std::int64_t c = 0; c < rows; ++c)
      targets.set(c, c % 3 == 1 ? -1 : static_cast<double>(random.below(static_cast<std::uint64_t>(vocabulary))));
    if (rows > 2) targets.set(2, static_cast<double>(vocabulary - 1)); // the very last column
    const Values before = logits.values();
    const Expected expected = reference(before, targets, vocabulary, static_cast<double>(scale));
    if (rows * vocabulary < 1000)
      MILLRACE_JACOBIAN(
          [&](const Values& p) {
            double total = 0;
            for (const double l : reference(p, targets, vocabulary, 1).loss) total += l;
            return total * static_cast<double>(scale);
          },
          before, expected.dLogits);

    const auto run = [&](ThreadPool& pool) {
      HostTensor l = logits, out = loss;
      CrossEntropyArgs args{l.view(), targets.view(), out.view(), {}, scale};
      if (static_cast<Gradient>(gradient) == Gradient::F32) args.dLogits = l.view();
      if (static_cast<Gradient>(gradient) == Gradient::BF16) args.dLogits = narrowView(l);
      cpu::crossEntropy(pool, args, static_cast<cpu::Isa>(isa));
      return std::vector<HostTensor>{l, out};
    };
    ThreadPool pool(2);
    const std::vector<HostTensor> results = run(pool);
    MILLRACE_COMPARE(results[1], expected.loss, 3e-7, 1);
    QVERIFY(results[0].paddingIntact() && results[1].paddingIntact());
    switch (static_cast<Gradient>(gradient)) {
    case Gradient::None:
      QVERIFY(results[0].values() == before);
      break;
    case Gradient::F32:
      MILLRACE_COMPARE(results[0], expected.dLogits, 1e-6);
      break;
    case Gradient::BF16: {
      HostTensor narrow(DType::BF16, {rows, vocabulary});
      for (std::int64_t c = 0; c < rows; ++c)
        std::memcpy(narrow.view().rows(c, 1).data, narrowView(results[0]).rows(c, 1).data,
                    static_cast<std::size_t>(vocabulary) * 2);
      MILLRACE_COMPARE(narrow, expected.dLogits, 1e-6);
      break;
    }
    }
    QVERIFY(equalForAllThreadCounts(run));
  }

  void cappedLogits_data() {
    QTest::addColumn<bool>("narrow");
    QTest::addColumn<int>("isa");
    for (const bool narrow : {false, true})
      for (const cpu::Isa isa : {cpu::Isa::Baseline, cpu::Isa::Avx2, cpu::Isa::Avx512})
        QTest::addRow("%s %s", nameOf(isa), narrow ? "bf16" : "fp32") << narrow << static_cast<int>(isa);
  }
  /// The logits are kept within a bound first; the gradients are those of what they were before.
  void cappedLogits() {
    QFETCH(bool, narrow);
    QFETCH(int, isa);
    MILLRACE_NEED_ISA(static_cast<cpu::Isa>(isa));
    constexpr std::int64_t rows = 7, vocabulary = 131;
    constexpr double cap = 3, scale = 0.37;
    Random random(12);
    HostTensor logits = HostTensor(DType::F32, {rows, vocabulary}, 5).fillNormal(random, 4);
    HostTensor targets(DType::I32, {rows}), loss(DType::F32, {rows});
    for (std::int64_t c = 0; c < rows; ++c) targets.set(c, c == 2 ? -1 : static_cast<double>(c * 19));
    const Values before = logits.values();
    const auto capped = [&](Values x) {
      for (double& value : x) value = cap * std::tanh(value / cap);
      return x;
    };
    Expected expected = reference(capped(before), targets, vocabulary, scale);
    for (std::size_t i = 0; i < before.size(); ++i) {
      const double tanh = std::tanh(before[i] / cap);
      expected.dLogits[i] *= 1 - tanh * tanh;
    }
    MILLRACE_JACOBIAN(
        [&](const Values& p) {
          double total = 0;
          for (const double l : reference(capped(p), targets, vocabulary, 1).loss) total += l;
          return total * scale;
        },
        before, expected.dLogits);

    const auto run = [&](ThreadPool& pool) {
      HostTensor l = logits, out = loss;
      cpu::softcap(pool, {l.view(), static_cast<float>(cap)}, static_cast<cpu::Isa>(isa));
      HostTensor between = l;
      cpu::crossEntropy(pool,
                        {.logits = l.view(),
                         .targets = targets.view(),
                         .loss = out.view(),
                         .dLogits = narrow ? narrowView(l) : l.view(),
                         .scale = static_cast<float>(scale),
                         .softcap = static_cast<float>(cap)},
                        static_cast<cpu::Isa>(isa));
      return std::vector<HostTensor>{between, out, l};
    };
    ThreadPool pool(2);
    const std::vector<HostTensor> results = run(pool);
    MILLRACE_COMPARE(results[0], capped(before), 5e-7);
    MILLRACE_COMPARE(results[1], expected.loss, 1e-6, 1);
    HostTensor gradient(narrow ? DType::BF16 : DType::F32, {rows, vocabulary});
    for (std::int64_t c = 0; c < rows; ++c) {
      const TensorView from = narrow ? narrowView(results[2]) : results[2].view();
      std::memcpy(gradient.view().rows(c, 1).data, from.rows(c, 1).data,
                  static_cast<std::size_t>(vocabulary * bytesPerElement(from.dtype)));
    }
    MILLRACE_COMPARE(gradient, expected.dLogits, 3e-6);
    for (const HostTensor& result : results) QVERIFY(result.paddingIntact());
    QVERIFY(equalForAllThreadCounts(run));
  }

  void confidentRow() {
    // The target's probability is near 1: its gradient is what little the other columns have, not a rounded 1 - 1.
    HostTensor logits(DType::F32, {1, 100}), targets(DType::I32, {1}), loss(DType::F32, {1});
    for (std::int64_t i = 0; i < 100; ++i) logits.set(i, i == 42 ? 6 : -6);
    targets.set(0, 42);
    const Expected expected = reference(logits.values(), targets, 100, 1);
    ThreadPool pool(1);
    cpu::crossEntropy(pool, {logits.view(), targets.view(), loss.view(), logits.view(), 1});
    QVERIFY(std::abs(logits.get(42) - expected.dLogits[42]) <= 3e-7);
    QVERIFY(std::abs(loss.get(0) - expected.loss[0]) <= 3e-7);
    QVERIFY(std::abs(expected.loss[0]) > 5e-4);
  }

  void maskedAndNonFiniteLogits() {
    const double infinity = std::numeric_limits<double>::infinity();
    HostTensor logits(DType::F32, {4, 4100}), targets(DType::I32, {4}), loss(DType::F32, {4});
    for (std::int64_t i = 0; i < 4100; ++i) {
      logits.set(i, i < 3000 ? -infinity : 1);                      // whole blocks of -inf, a finite target
      logits.set(4100 + i, i == 4000 ? std::nan("") : 0);           // NaN
      logits.set(2 * 4100 + i, i == 100 ? infinity : 0);            // +inf
      logits.set(3 * 4100 + i, i == 100 ? std::nan("") : infinity); // no target: all of it ignored
    }
    for (std::int64_t c = 0; c < 3; ++c) targets.set(c, 3500);
    targets.set(3, -1);
    ThreadPool pool(2);
    cpu::crossEntropy(pool, {logits.view(), targets.view(), loss.view(), logits.view(), 1});
    QVERIFY(std::abs(loss.get(0) - std::log(1100.0)) < 1e-5);
    QCOMPARE(logits.get(5), 0.0);
    QVERIFY(std::isnan(loss.get(1)));
    QVERIFY(!std::isfinite(loss.get(2)));
    QCOMPARE(loss.get(3), 0.0);
    for (std::int64_t i = 0; i < 4100; ++i) QCOMPARE(logits.get(3 * 4100 + i), 0.0);
  }
};

QTEST_GUILESS_MAIN(TestCrossEntropy)
#include "test_cross_entropy.moc"
