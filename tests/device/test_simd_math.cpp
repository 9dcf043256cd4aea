// How close exp, the logistic function, tanh and the normal distribution come, over the floats of every binade.
#include "kernel_test.h"
#include "simd_math_probe.h"

#include <bit>
#include <limits>

using namespace millrace;
using namespace millrace::test;

namespace {

void addIsas() {
  QTest::addColumn<int>("isa");
  for (const cpu::Isa isa : {cpu::Isa::Baseline, cpu::Isa::Avx2, cpu::Isa::Avx512})
    QTest::newRow(nameOf(isa)) << static_cast<int>(isa);
}

/// Every 4001st float, denormals and infinities included, NaN left out.
std::vector<float> floats() {
  std::vector<float> result;
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += 4001) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (!std::isnan(value)) result.push_back(value);
  }
  for (float x = -110; x < 92; x += 0.00037f) result.push_back(x);
  const float infinity = std::numeric_limits<float>::infinity();
  result.insert(result.end(), {0.0f, -0.0f, infinity, -infinity});
  return result;
}

/// The distance of two neighbouring floats at a value.
double ulp(double value) {
  const auto nearest = static_cast<float>(std::abs(value));
  return static_cast<double>(std::nextafter(nearest, std::numeric_limits<float>::infinity())) -
         static_cast<double>(nearest);
}

} // namespace

class TestSimdMath : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void exponential_data() { addIsas(); }
  void exponential() {
    QFETCH(int, isa);
    MILLRACE_NEED_ISA(static_cast<cpu::Isa>(isa));
    const std::vector<float> x = floats();
    std::vector<float> y(x.size());
    MILLRACE_ISA_FUNCTION(static_cast<cpu::Isa>(isa), probeExp)
    (x.data(), y.data(), static_cast<std::int64_t>(x.size()));
    double worst = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (x[i] > 0) continue;
      const double expected = std::exp(static_cast<double>(x[i]));
      if (expected < 1.1754945e-38) { // denormal: flushed, but for what lies within rounding of the smallest normal
        QVERIFY(y[i] == 0 || (expected > 1.17549e-38 && y[i] < 1.1755e-38f));
        continue;
      }
      worst = std::max(worst, std::abs(static_cast<double>(y[i]) - expected) / ulp(expected));
    }
    QVERIFY2(worst <= 2, qPrintable(QString("%1 ulp").arg(worst)));
    const float nan = std::numeric_limits<float>::quiet_NaN();
    float result = 0;
    MILLRACE_ISA_FUNCTION(static_cast<cpu::Isa>(isa), probeExp)(&nan, &result, 1);
    QVERIFY(std::isnan(result));
  }

  void logistic_data() { addIsas(); }
  void logistic() {
    QFETCH(int, isa);
    MILLRACE_NEED_ISA(static_cast<cpu::Isa>(isa));
    const std::vector<float> x = floats();
    std::vector<float> y(x.size());
    MILLRACE_ISA_FUNCTION(static_cast<cpu::Isa>(isa), probeSigmoid)
    (x.data(), y.data(), static_cast<std::int64_t>(x.size()));
    double worst = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double expected = 1 / (1 + std::exp(-static_cast<double>(x[i])));
      if (expected < 1.18e-38) {
        QVERIFY(y[i] >= 0 && y[i] <= 1.19e-38f);
        continue;
      }
      worst = std::max(worst, std::abs(static_cast<double>(y[i]) - expected) / ulp(expected));
    }
    QVERIFY2(worst <= 4, qPrintable(QString("%1 ulp").arg(worst)));
  }

  void hyperbolicTangent_data() { addIsas(); }
  void hyperbolicTangent() {
    QFETCH(int, isa);
    MILLRACE_NEED_ISA(static_cast<cpu::Isa>(isa));
    const std::vector<float> x = floats();
    std::vector<float> y(x.size());
    const auto tanh = MILLRACE_ISA_FUNCTION(static_cast<cpu::Isa>(isa), probeTanh);
    tanh(x.data(), y.data(), static_cast<std::int64_t>(x.size()));
    double worst = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double expected = std::tanh(static_cast<double>(x[i]));
      worst = std::max(worst, std::abs(static_cast<double>(y[i]) - expected) / ulp(expected));
    }
    QVERIFY2(worst <= 4, qPrintable(QString("%1 ulp").arg(worst)));
    const float nan = std::numeric_limits<float>::quiet_NaN();
    float result = 0;
    tanh(&nan, &result, 1);
    QVERIFY(std::isnan(result));
  }

  void normal_data() { addIsas(); }
  void normal() {
    QFETCH(int, isa);
    MILLRACE_NEED_ISA(static_cast<cpu::Isa>(isa));
    const std::vector<float> x = floats();
    std::vector<float> y(x.size());
    MILLRACE_ISA_FUNCTION(static_cast<cpu::Isa>(isa), probeNormal)
    (x.data(), y.data(), static_cast<std::int64_t>(x.size()));
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double expected = 0.5 * std::erfc(-static_cast<double>(x[i]) / std::sqrt(2.0));
      const double error = std::abs(static_cast<double>(y[i]) - expected);
      QVERIFY2(error <= 2e-7, qPrintable(QString("at %1: %2").arg(static_cast<double>(x[i])).arg(error)));
      // What gelu multiplies: small in the tails too.
      if (std::abs(x[i]) < 12)
        QVERIFY(error * static_cast<double>(std::abs(x[i])) <= 2e-7 * std::max(1.0, static_cast<double>(x[i])));
    }
  }
};

QTEST_GUILESS_MAIN(TestSimdMath)
#include "test_simd_math.moc"
