// Attention on the CPU against a float64 reference, the reference's backward against central differences, and bits
// across thread counts.
#include "device/cpu/ops/attention.h"
#include "device/cpu/ops/attention_backward.h"
#include "device/cpu/ops/attention_simd.h"
#include "support/attention_cases.h"
#include "support/attention_reference.h"
#include "support/jacobian.h"
#include "support/matmul_tensors.h"

#include <QtTest>
#include <bit>

using namespace millrace;
using test::AttentionProblem;
using test::MatrixBuffer;

namespace {

using Case = test::AttentionCase;
using test::Documents;

struct Tensors : test::AttentionTensors {
  using AttentionTensors::AttentionTensors;

  void forward(ThreadPool& pool) const { cpu::attention(pool, forwardArgs()); }
  void backward(ThreadPool& pool) const { cpu::attentionBackward(pool, backwardArgs()); }
};

void addRows(const std::vector<Case>& table) {
  for (Case the : table) {
    for (const DType dtype : {DType::F32, DType::BF16}) {
      the.dtype = dtype;
      QTest::addRow("%s %s", dtype == DType::F32 ? "fp32" : "bf16", the.name) << the;
    }
  }
}

QString comparison(const char* what, const std::vector<double>& actual, const std::vector<double>& expected,
                   double relative, double absolute) {
  if (actual.size() != expected.size()) return QString("%1: sizes differ").arg(what);
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const double bound = absolute + relative * std::abs(expected[i]);
    if (!(std::abs(actual[i] - expected[i]) <= bound)) {
      return QString("%1[%2]: %3, expected %4 within %5").arg(what).arg(i).arg(actual[i]).arg(expected[i]).arg(bound);
    }
  }
  return {};
}

double rounding(DType dtype) {
  return dtype == DType::BF16 ? std::ldexp(1.0, -8) : std::ldexp(1.0, -23);
}

} // namespace

Q_DECLARE_METATYPE(Case)

class TestAttention : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void referenceBackwardIsTheDerivative_data();
  void referenceBackwardIsTheDerivative();
  void forwardMatchesFloat64_data();
  void forwardMatchesFloat64();
  void backwardMatchesFloat64_data();
  void backwardMatchesFloat64();
  void largeScores();
  void bitsDoNotDependOnThreads_data();
  void bitsDoNotDependOnThreads();
  void unseenBlocksAreNotRead_data();
  void unseenBlocksAreNotRead();
  void notANumberReachesTheResult();
  void powersOfTwo_data();
  void powersOfTwo();
  void instructionSetsAgree();
};

void TestAttention::referenceBackwardIsTheDerivative_data() {
  QTest::addColumn<Case>("the");
  const std::vector<Case> table = {
      {"plain", 1, 7, 7, 2, 2, 3},
      {"grouped", 2, 5, 5, 4, 2, 2},
      {"window", 1, 9, 9, 2, 1, 2, 3},
      {"documents", 2, 8, 8, 2, 2, 2, 0, Documents::Two},
      {"documents and window", 1, 12, 12, 2, 1, 2, 4, Documents::Many},
      test::capped({"softcap", 1, 9, 9, 2, 1, 3, 5}, 0.4),
  };
  for (const Case& the : table) QTest::newRow(the.name) << the;
}

void TestAttention::referenceBackwardIsTheDerivative() {
  QFETCH(const Case, the);
  const Tensors tensors(the);
  const AttentionProblem& problem = tensors.problem;
  const std::vector<double> q = test::valuesOf(tensors.q), k = test::valuesOf(tensors.k);
  const std::vector<double> v = test::valuesOf(tensors.v), dOut = test::valuesOf(tensors.dOut);
  const std::vector<double> out = test::attentionForward(problem, q, k, v).out;
  const test::AttentionGradients gradients = test::attentionBackward(problem, q, k, v, out, dOut);
  const auto ofQ = [&](const std::vector<double>& x) { return test::attentionForward(problem, x, k, v).out; };
  const auto ofK = [&](const std::vector<double>& x) { return test::attentionForward(problem, q, x, v).out; };
  const auto ofV = [&](const std::vector<double>& x) { return test::attentionForward(problem, q, k, x).out; };
  QVERIFY(test::largestDifference(gradients.dQ, test::numericalGradient(ofQ, q, dOut)) < 1e-8);
  QVERIFY(test::largestDifference(gradients.dK, test::numericalGradient(ofK, k, dOut)) < 1e-8);
  QVERIFY(test::largestDifference(gradients.dV, test::numericalGradient(ofV, v, dOut)) < 1e-8);
  QVERIFY(test::largestMagnitude(gradients.dQ) > 1e-3 && test::largestMagnitude(gradients.dK) > 1e-3);
}

void TestAttention::forwardMatchesFloat64_data() {
  QTest::addColumn<Case>("the");
  addRows(test::attentionCases());
  addRows(test::attentionGenerationCases());
}

void TestAttention::forwardMatchesFloat64() {
  QFETCH(const Case, the);
  ThreadPool pool(2);
  const Tensors tensors(the);
  tensors.forward(pool);
  const test::AttentionResult expected = test::attentionForward(tensors.problem, test::valuesOf(tensors.q),
                                                                test::valuesOf(tensors.k), test::valuesOf(tensors.v));
  const QString out = comparison("out", test::valuesOf(tensors.out), expected.out, rounding(the.dtype), 2e-6);
  QVERIFY2(out.isEmpty(), qPrintable(out));
  const QString lse = comparison("lse", test::valuesOf(tensors.lse), expected.lse, 5e-7, 1e-6);
  QVERIFY2(lse.isEmpty(), qPrintable(lse));
  QVERIFY(tensors.gapsUntouched());
}

void TestAttention::backwardMatchesFloat64_data() {
  QTest::addColumn<Case>("the");
  addRows(test::attentionCases());
}

void TestAttention::backwardMatchesFloat64() {
  QFETCH(const Case, the);
  ThreadPool pool(2);
  const Tensors tensors(the);
  tensors.forward(pool);
  tensors.backward(pool);
  const test::AttentionGradients expected =
      test::attentionBackward(tensors.problem, test::valuesOf(tensors.q), test::valuesOf(tensors.k),
                              test::valuesOf(tensors.v), test::valuesOf(tensors.out), test::valuesOf(tensors.dOut));
  // dK and dV sum over up to T queries of each head of the group.
  const double sums = std::sqrt(static_cast<double>(the.queries * the.heads / the.kvHeads));
  const QString problems[] = {
      comparison("dQ", test::valuesOf(tensors.dQ), expected.dQ, rounding(the.dtype), 5e-6),
      comparison("dK", test::valuesOf(tensors.dK), expected.dK, rounding(the.dtype), 2e-6 * sums),
      comparison("dV", test::valuesOf(tensors.dV), expected.dV, rounding(the.dtype), 2e-6 * sums),
  };
  for (const QString& problem : problems) QVERIFY2(problem.isEmpty(), qPrintable(problem));
  QVERIFY(tensors.gapsUntouched());
}

void TestAttention::largeScores() {
  // Scores in the hundreds: exponentials overflow unless the maximum is taken out, also when it grows between blocks.
  ThreadPool pool(2);
  const Tensors tensors({"large", 1, 300, 300, 2, 2, 64}, 12.0);
  tensors.forward(pool);
  tensors.backward(pool);
  const std::vector<double> q = test::valuesOf(tensors.q), k = test::valuesOf(tensors.k), v = test::valuesOf(tensors.v);
  const test::AttentionResult expected = test::attentionForward(tensors.problem, q, k, v);
  QVERIFY(test::largestMagnitude(expected.lse) > 100);
  QVERIFY(test::largestDifference(test::valuesOf(tensors.out), expected.out) < 1e-3);
  QVERIFY(test::largestDifference(test::valuesOf(tensors.lse), expected.lse) < 1e-4);
  const test::AttentionGradients gradients =
      test::attentionBackward(tensors.problem, q, k, v, test::valuesOf(tensors.out), test::valuesOf(tensors.dOut));
  QVERIFY(test::largestDifference(test::valuesOf(tensors.dQ), gradients.dQ) <
          2e-4 * test::largestMagnitude(gradients.dQ));
  QVERIFY(test::largestDifference(test::valuesOf(tensors.dK), gradients.dK) <
          2e-4 * test::largestMagnitude(gradients.dK));
  QVERIFY(test::largestDifference(test::valuesOf(tensors.dV), gradients.dV) <
          2e-4 * test::largestMagnitude(gradients.dV));
}

void TestAttention::bitsDoNotDependOnThreads_data() {
  QTest::addColumn<Case>("the");
  addRows({{"few pairs", 1, 300, 300, 4, 2, 16, 0, Documents::Many, true},
           {"many pairs", 2, 200, 200, 4, 4, 16},
           {"many pairs, grouped", 4, 150, 150, 4, 2, 48, 90}});
}

void TestAttention::bitsDoNotDependOnThreads() {
  QFETCH(const Case, the);
  std::vector<std::vector<std::byte>> expected;
  for (const int threads : {1, 2, 3, 5}) {
    ThreadPool pool(threads);
    const Tensors tensors(the);
    tensors.forward(pool);
    tensors.backward(pool);
    std::vector<std::vector<std::byte>> actual{tensors.outRows.contents(), tensors.lseRows.contents(),
                                               tensors.dQRows.contents()};
    if (!the.fused) {
      actual.push_back(tensors.dKRows.contents());
      actual.push_back(tensors.dVRows.contents());
    }
    if (threads == 1)
      expected = actual;
    else
      QVERIFY2(actual == expected, qPrintable(QString("%1 threads").arg(threads)));
  }
}

void TestAttention::unseenBlocksAreNotRead_data() {
  QTest::addColumn<Case>("the");
  // The last quarter of the row sees nothing of the first half: its document starts in between, or its window does.
  QTest::newRow("document, few pairs") << Case{"", 1, 1024, 1024, 2, 1, 16, 0, Documents::Two};
  QTest::newRow("document, many pairs") << Case{"", 2, 1024, 1024, 4, 4, 16, 0, Documents::Two};
  QTest::newRow("window, few pairs") << Case{"", 1, 1024, 1024, 2, 1, 16, 100};
  QTest::newRow("window, many pairs") << Case{"", 2, 1024, 1024, 4, 4, 16, 100};
}

void TestAttention::unseenBlocksAreNotRead() {
  // NaN in the first keys and values would spread through products with zero; it may only reach who can see them.
  QFETCH(const Case, the);
  ThreadPool pool(2);
  Tensors tensors(the);
  const std::int64_t poisoned = 384, safe = 768;
  for (std::int64_t b = 0; b < the.batch; ++b) {
    for (std::int64_t t = 0; t < poisoned; ++t) {
      for (std::int64_t c = 0; c < tensors.kRows.columns(); ++c) {
        tensors.kRows.set(b * the.keys + t, c, std::nan(""));
        tensors.vRows.set(b * the.keys + t, c, std::nan(""));
      }
    }
  }
  tensors.forward(pool);
  tensors.backward(pool);
  const auto finiteFrom = [&](const MatrixBuffer& rows) {
    for (std::int64_t b = 0; b < the.batch; ++b) {
      for (std::int64_t t = safe; t < the.keys; ++t) {
        for (std::int64_t c = 0; c < rows.columns(); ++c) {
          if (!std::isfinite(rows.get(b * the.keys + t, c))) return false;
        }
      }
    }
    return true;
  };
  QVERIFY(!std::isfinite(tensors.outRows.get(0, 0)));
  QVERIFY(finiteFrom(tensors.outRows));
  QVERIFY(finiteFrom(tensors.dQRows));
  QVERIFY(finiteFrom(tensors.dKRows));
  QVERIFY(finiteFrom(tensors.dVRows));
}

void TestAttention::notANumberReachesTheResult() {
  // A training step must be able to see that something went wrong.
  ThreadPool pool(2);
  Tensors tensors({"", 1, 150, 150, 2, 2, 16});
  tensors.qRows.set(140, 3, std::nan(""));
  tensors.forward(pool);
  tensors.backward(pool);
  QVERIFY(std::isnan(tensors.outRows.get(140, 0)));
  QVERIFY(std::isfinite(tensors.outRows.get(139, 0)));
  QVERIFY(std::isnan(tensors.dQRows.get(140, 0)));
  QVERIFY(std::isnan(tensors.dKRows.get(5, 0)));
}

void TestAttention::powersOfTwo_data() {
  QTest::addColumn<int>("isa");
  for (const cpu::Isa isa : {cpu::Isa::Baseline, cpu::Isa::Avx2, cpu::Isa::Avx512}) {
    QTest::newRow(toString(isa).data()) << static_cast<int>(isa);
  }
}

void TestAttention::powersOfTwo() {
  QFETCH(const int, isa);
  if (!cpu::supported(static_cast<cpu::Isa>(isa))) QSKIP("this processor lacks the instruction set");
  const cpu::AttentionSimd& simd = cpu::attentionSimd(static_cast<cpu::Isa>(isa));
  constexpr std::size_t count = 1 << 16;
  std::vector<float> x(count), y;
  double worst = 0;
  for (int span = 0; span < 20; ++span) {
    Random random(5, static_cast<std::uint64_t>(span));
    for (float& value : x) value = static_cast<float>((random.uniform() * 2 - 1) * std::ldexp(126.0, -span));
    y = x;
    simd.powersOfTwo(y.data(), static_cast<std::int64_t>(count));
    for (std::size_t i = 0; i < count; ++i) {
      const double expected = std::exp2(static_cast<double>(x[i]));
      const double unit = std::ldexp(1.0, std::ilogb(expected) - 23);
      worst = std::max(worst, std::abs(static_cast<double>(y[i]) - expected) / unit);
    }
  }
  QVERIFY2(worst <= 2.0, qPrintable(QString::number(worst)));
  x.assign(16, 0.0f);
  x = {0.0f, -0.0f, 1.0f, -1.0f, 10.0f, -126.0f, -126.5f, -1000.0f, -HUGE_VALF, 127.0f, 0, 0, 0, 0, 0, 0};
  y = x;
  y[10] = std::nanf("");
  simd.powersOfTwo(y.data(), 16);
  const float expected[] = {1, 1, 2, 0.5f, 1024, 0x1p-126f, 0, 0, 0, 0x1p127f};
  for (std::size_t i = 0; i < 10; ++i) QCOMPARE(y[i], expected[i]);
  QVERIFY(std::isnan(y[10]));
}

void TestAttention::instructionSetsAgree() {
  // Every table gives the same softmax within rounding, masks and padding included.
  constexpr std::int64_t rows = 5, columns = 37, stride = 48, width = 24;
  const cpu::AttentionSimd& baseline = cpu::attentionSimd(cpu::Isa::Baseline);
  for (const cpu::Isa isa : {cpu::Isa::Avx2, cpu::Isa::Avx512}) {
    if (!cpu::supported(isa)) continue;
    std::vector<float> results[2];
    for (const int which : {0, 1}) {
      const cpu::AttentionSimd& simd = which == 0 ? baseline : cpu::attentionSimd(isa);
      MatrixBuffer scores(DType::F32, rows, columns, stride), out(DType::F32, rows, width);
      scores.randomize(1, 20);
      out.randomize(2);
      std::vector<float> maximum{-3, 2, 100, -HUGE_VALF, 1}, sum{1, 2, 3, 0, 5};
      const std::vector<std::int32_t> first{-4, 3, 17, 36, 40}, end{90, 8, 33, 37, 90};
      simd.softmax({.scores = scores.view().as<float>(),
                    .stride = stride,
                    .rows = rows,
                    .columns = columns,
                    .first = first.data(),
                    .end = end.data(),
                    .maximum = maximum.data(),
                    .sum = sum.data(),
                    .out = out.view().as<float>(),
                    .outStride = width,
                    .width = width});
      std::vector<float>& result = results[which];
      result = maximum;
      result.insert(result.end(), sum.begin(), sum.end());
      for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t c = 0; c < columns; ++c) {
          result.push_back(static_cast<float>(scores.get(r, c)));
          if (c < first[static_cast<std::size_t>(r)] || c >= end[static_cast<std::size_t>(r)])
            QCOMPARE(result.back(), 0.0f);
        }
        for (std::int64_t c = 0; c < width; ++c) result.push_back(static_cast<float>(out.get(r, c)));
      }
    }
    QCOMPARE(results[0].size(), results[1].size());
    for (std::size_t i = 0; i < results[0].size(); ++i) {
      QVERIFY(std::abs(results[0][i] - results[1][i]) <= 1e-6f * std::abs(results[0][i]));
    }
  }
}

QTEST_GUILESS_MAIN(TestAttention)
#include "test_attention.moc"
