// Bias gradients, sums over ranges and conversions.
#include "device/cpu/ops/bias_gradient.h"
#include "device/cpu/ops/convert.h"
#include "device/cpu/ops/reduce.h"
#include "kernel_test.h"

#include <bit>
#include <limits>

using namespace millrace;
using namespace millrace::test;

namespace {

using Values = std::vector<double>;

void addIsas(const char* what, std::initializer_list<std::int64_t> sizes) {
  QTest::addColumn<std::int64_t>("size");
  QTest::addColumn<int>("isa");
  for (const std::int64_t size : sizes)
    for (const cpu::Isa isa : {cpu::Isa::Baseline, cpu::Isa::Avx2, cpu::Isa::Avx512})
      QTest::addRow("%s %d %s", nameOf(isa), static_cast<int>(size), what) << size << static_cast<int>(isa);
}

/// The order that SumOfSquaresArgs names.
double squaresInOrder(const std::vector<float>& x) {
  constexpr std::size_t lanes = SumOfSquaresArgs::lanes, length = SumOfSquaresArgs::piece;
  const auto fold = [](std::vector<double> sums) {
    for (std::size_t half = lanes / 2; half > 0; half /= 2)
      for (std::size_t i = 0; i < half; ++i) sums[i] += sums[i + half];
    return sums[0];
  };
  std::vector<double> total(lanes);
  for (std::size_t piece = 0; piece * length < x.size(); ++piece) {
    std::vector<double> sums(lanes);
    for (std::size_t i = piece * length; i < std::min(x.size(), (piece + 1) * length); ++i)
      sums[i % lanes] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    total[piece % lanes] += fold(sums);
  }
  return fold(total);
}

} // namespace

class TestSums : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void biasGradient_data() {
    QTest::addColumn<std::int64_t>("tokens");
    QTest::addColumn<std::int64_t>("width");
    QTest::addColumn<std::int64_t>("pad");
    QTest::addColumn<bool>("bf16");
    QTest::addColumn<int>("isa");
    const struct {
      std::int64_t tokens, width, pad;
    } shapes[] = {{1, 1, 0}, {7, 5, 0}, {4, 67, 3}, {1, 3001, 0}, {517, 1030, 16}, {2000, 3, 1}};
    for (const auto& s : shapes)
      for (const bool bf16 : {false, true})
        for (const cpu::Isa isa : {cpu::Isa::Baseline, cpu::Isa::Avx2, cpu::Isa::Avx512})
          QTest::addRow("%s %s %dx%d pad %d", nameOf(isa), bf16 ? "bf16" : "fp32", static_cast<int>(s.tokens),
                        static_cast<int>(s.width), static_cast<int>(s.pad))
              << s.tokens << s.width << s.pad << bf16 << static_cast<int>(isa);
  }
  void biasGradient() {
    QFETCH(std::int64_t, tokens);
    QFETCH(std::int64_t, width);
    QFETCH(std::int64_t, pad);
    QFETCH(bool, bf16);
    QFETCH(int, isa);
    MILLRACE_NEED_ISA(static_cast<cpu::Isa>(isa));
    Random random(2);
    HostTensor dY = HostTensor(bf16 ? DType::BF16 : DType::F32, {tokens, width}, pad).fillNormal(random, 1, 0.1);
    HostTensor before = HostTensor(DType::F32, {width}).fillNormal(random);
    Values added(static_cast<std::size_t>(width)), expected = before.values();
    for (std::int64_t t = 0; t < tokens; ++t)
      for (std::int64_t i = 0; i < width; ++i) added[static_cast<std::size_t>(i)] += dY.get(t * width + i);
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += added[i];
    if (tokens * width < 300)
      MILLRACE_JACOBIAN(
          [&](const Values& bias) {
            double loss = 0;
            for (std::int64_t t = 0; t < tokens; ++t)
              for (std::int64_t i = 0; i < width; ++i)
                loss += dY.get(t * width + i) * bias[static_cast<std::size_t>(i)];
            return loss;
          },
          before.values(), added);
    const auto run = [&](ThreadPool& pool) {
      HostTensor dBias = before;
      cpu::biasGradient(pool, {dY.view(), dBias.view()}, static_cast<cpu::Isa>(isa));
      return std::vector<HostTensor>{dBias};
    };
    ThreadPool pool(2);
    const HostTensor dBias = run(pool)[0];
    MILLRACE_COMPARE(dBias, expected, 1e-6);
    QVERIFY(dBias.paddingIntact());
    QVERIFY(equalForAllThreadCounts(run));
  }

  void reduces_data() {
    addIsas("elements", {0, 1, 7, 8, 63, 64, 65, 127, 128, 16384, 16385, 32769, 200001, 17000003});
  }
  void reduces() {
    QFETCH(std::int64_t, size);
    QFETCH(int, isa);
    MILLRACE_NEED_ISA(static_cast<cpu::Isa>(isa));
    Random random(4);
    std::vector<float> x(static_cast<std::size_t>(size));
    for (float& v : x) v = static_cast<float>(random.uniform() - 0.4);
    const double inOrder = squaresInOrder(x);
    double sum = 0, squares = 0;
    for (const float v : x) {
      sum += static_cast<double>(v);
      squares += static_cast<double>(v) * static_cast<double>(v);
    }
    float none = 0;
    const TensorView view(size == 0 ? &none : x.data(), DType::F32, {size});
    double first = 0;
    for (const int threads : threadCounts) {
      ThreadPool pool(threads);
      double total = 3, totalSquares = 3; // one is added to, one written
      cpu::sum(pool, {view, TensorView(&total, DType::F64, {1})}, static_cast<cpu::Isa>(isa));
      cpu::sumOfSquares(pool, {view, TensorView(&totalSquares, DType::F64, {1})}, static_cast<cpu::Isa>(isa));
      QVERIFY(std::abs(total - 3 - sum) <= 1e-11 * static_cast<double>(size + 1));
      QVERIFY(std::abs(totalSquares - squares) <= 1e-11 * squares);
      if (threads == threadCounts[0]) first = total;
      QCOMPARE(std::bit_cast<std::uint64_t>(total), std::bit_cast<std::uint64_t>(first));
      QCOMPARE(std::bit_cast<std::uint64_t>(totalSquares), std::bit_cast<std::uint64_t>(inOrder));
    }
  }

  void squaresOfExtremes() {
    // Sums of squares that fp32 could not hold, and what must not be lost: a single NaN or infinity.
    ThreadPool pool(2);
    std::vector<float> x(100000, 3e38f);
    double sum = 0;
    cpu::sumOfSquares(pool, {TensorView(x.data(), DType::F32, {100000}), TensorView(&sum, DType::F64, {1})});
    QVERIFY(std::isfinite(sum));
    const auto each = static_cast<double>(3e38f);
    QVERIFY(std::abs(sum - 1e5 * each * each) <= 1e-9 * sum);
    x[77777] = std::numeric_limits<float>::quiet_NaN();
    cpu::sumOfSquares(pool, {TensorView(x.data(), DType::F32, {100000}), TensorView(&sum, DType::F64, {1})});
    QVERIFY(std::isnan(sum));
    x[77777] = -std::numeric_limits<float>::infinity();
    cpu::sumOfSquares(pool, {TensorView(x.data(), DType::F32, {100000}), TensorView(&sum, DType::F64, {1})});
    QVERIFY(std::isinf(sum));
  }

  void converts_data() {
    QTest::addColumn<int>("from");
    QTest::addColumn<int>("to");
    QTest::addColumn<int>("isa");
    for (const DType from : {DType::F32, DType::BF16})
      for (const DType to : {DType::F32, DType::BF16})
        for (const cpu::Isa isa : {cpu::Isa::Baseline, cpu::Isa::Avx2, cpu::Isa::Avx512})
          QTest::addRow("%s %s to %s", nameOf(isa), std::string(toString(from)).c_str(),
                        std::string(toString(to)).c_str())
              << static_cast<int>(from) << static_cast<int>(to) << static_cast<int>(isa);
  }
  void converts() {
    QFETCH(int, from);
    QFETCH(int, to);
    QFETCH(int, isa);
    MILLRACE_NEED_ISA(static_cast<cpu::Isa>(isa));
    Random random(8);
    const struct {
      Shape shape;
      std::int64_t pad;
    } shapes[] = {{{1}, 0},        {{50001}, 0},      {{7, 13}, 0},   {{7, 13}, 3},
                  {{3, 2, 21}, 5}, {{2, 3, 4, 9}, 1}, {{2, 40000}, 2}};
    for (const auto& s : shapes) {
      HostTensor x = HostTensor(static_cast<DType>(from), s.shape, s.pad, s.pad).fillNormal(random);
      HostTensor y(static_cast<DType>(to), s.shape, 2 * s.pad, s.pad);
      ThreadPool pool(3);
      cpu::convert(pool, {x.view(), y.view()}, static_cast<cpu::Isa>(isa));
      HostTensor expected(static_cast<DType>(to), s.shape);
      for (std::int64_t i = 0; i < x.count(); ++i) expected.set(i, x.get(i));
      QVERIFY(y.values() == expected.values());
      QVERIFY(y.paddingIntact());
    }
  }

  /// Rounding of a sweep of all floats equals base/bf16.h, NaN and infinities included.
  void roundsAsScalar_data() { addIsas("", {0}); }
  void roundsAsScalar() {
    QFETCH(int, isa);
    MILLRACE_NEED_ISA(static_cast<cpu::Isa>(isa));
    std::vector<float> x;
    for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += 1021)
      x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    for (std::uint32_t high = 0; high < 0x10000u; ++high)
      for (const std::uint32_t low : {0u, 1u, 0x7FFFu, 0x8000u, 0x8001u, 0xFFFFu})
        x.push_back(std::bit_cast<float>((high << 16) | low));
    std::vector<BFloat16> y(x.size());
    const auto count = static_cast<std::int64_t>(x.size());
    ThreadPool pool(2);
    cpu::convert(pool, {TensorView(x.data(), DType::F32, {count}), TensorView(y.data(), DType::BF16, {count})},
                 static_cast<cpu::Isa>(isa));
    for (std::size_t i = 0; i < x.size(); ++i) QCOMPARE(y[i].bits, toBFloat16(x[i]).bits);
  }
};

QTEST_GUILESS_MAIN(TestSums)
#include "test_sums.moc"
