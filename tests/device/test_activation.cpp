// Every activation, plain and gated, forward and backward, against float64.
#include "device/cpu/ops/activation.h"
#include "device/cpu/ops/gated_activation.h"
#include "kernel_test.h"

#include <limits>
#include <numbers>

using namespace millrace;
using namespace millrace::test;

namespace {

using Values = std::vector<double>;

constexpr struct {
  Activation kind;
  const char* name;
} activations[] = {{Activation::Silu, "silu"},
                   {Activation::Gelu, "gelu"},
                   {Activation::GeluTanh, "gelu_tanh"},
                   {Activation::Relu, "relu"},
                   {Activation::ReluSquared, "relu2"}};

double value(Activation kind, double x) {
  switch (kind) {
  case Activation::Silu:
    return x / (1 + std::exp(-x));
  case Activation::Gelu:
    return 0.5 * x * std::erfc(-x / std::numbers::sqrt2);
  case Activation::GeluTanh:
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
  case Activation::Relu:
    return std::max(x, 0.0);
  case Activation::ReluSquared:
    return std::max(x, 0.0) * std::max(x, 0.0);
  }
  return 0;
}

double slope(Activation kind, double x) {
  switch (kind) {
  case Activation::Silu: {
    const double s = 1 / (1 + std::exp(-x));
    return s * (1 + x * (1 - s));
  }
  case Activation::Gelu:
    return 0.5 * std::erfc(-x / std::numbers::sqrt2) + x * std::exp(-0.5 * x * x) / std::sqrt(2 * std::numbers::pi);
  case Activation::GeluTanh: {
    const double a = std::sqrt(2 / std::numbers::pi);
    const double t = std::tanh(a * (x + 0.044715 * x * x * x));
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * a * (1 + 3 * 0.044715 * x * x);
  }
  case Activation::Relu:
    return x > 0 ? 1 : 0;
  case Activation::ReluSquared:
    return 2 * std::max(x, 0.0);
  }
  return 0;
}

void addCases() {
  QTest::addColumn<int>("kind");
  QTest::addColumn<std::int64_t>("tokens");
  QTest::addColumn<std::int64_t>("width");
  QTest::addColumn<std::int64_t>("pad");
  QTest::addColumn<bool>("bf16");
  QTest::addColumn<int>("isa");
  const struct {
    std::int64_t tokens, width, pad;
  } shapes[] = {{1, 1, 0}, {3, 17, 4}, {1, 40001, 0}, {37, 1100, 0}, {20, 33, 1}};
  for (const auto& a : activations)
    for (const auto& s : shapes)
      for (const bool bf16 : {false, true})
        for (const cpu::Isa isa : {cpu::Isa::Baseline, cpu::Isa::Avx2, cpu::Isa::Avx512})
          QTest::addRow("%s %s %s %dx%d pad %d", nameOf(isa), a.name, bf16 ? "bf16" : "fp32",
                        static_cast<int>(s.tokens), static_cast<int>(s.width), static_cast<int>(s.pad))
              << static_cast<int>(a.kind) << s.tokens << s.width << s.pad << bf16 << static_cast<int>(isa);
}

struct Case {
  Activation kind;
  std::int64_t tokens, width, pad;
  DType dtype;
  cpu::Isa isa;

  HostTensor single() const { return HostTensor(dtype, {tokens, width}, pad); }
  HostTensor twice() const { return HostTensor(dtype, {tokens, 2 * width}, pad); }
};

Case fetchCase() {
  QFETCH(int, kind);
  QFETCH(std::int64_t, tokens);
  QFETCH(std::int64_t, width);
  QFETCH(std::int64_t, pad);
  QFETCH(bool, bf16);
  QFETCH(int, isa);
  return {static_cast<Activation>(kind), tokens, width, pad, bf16 ? DType::BF16 : DType::F32,
          static_cast<cpu::Isa>(isa)};
}

} // namespace

class TestActivation : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void slopes_data() {
    QTest::addColumn<int>("kind");
    for (const auto& a : activations) QTest::newRow(a.name) << static_cast<int>(a.kind);
  }
  void slopes() {
    QFETCH(int, kind);
    const auto act = static_cast<Activation>(kind);
    Random random(3);
    Values x(300), gradient;
    for (double& v : x) v = 3 * random.normal();
    for (const double v : x) gradient.push_back(slope(act, v));
    MILLRACE_JACOBIAN(
        [&](const Values& p) {
          double sum = 0;
          for (const double v : p) sum += value(act, v);
          return sum;
        },
        x, gradient);
  }

  void plain_data() { addCases(); }
  void plain() {
    const Case c = fetchCase();
    MILLRACE_NEED_ISA(c.isa);
    Random random(11);
    HostTensor x = c.single().fillNormal(random, 2), dY = c.single().fillNormal(random), y = c.single(),
               dX = c.single();
    ThreadPool pool(2);
    cpu::activation(pool, {x.view(), y.view(), c.kind}, c.isa);
    cpu::activationBackward(pool, {dY.view(), x.view(), dX.view(), c.kind}, c.isa);
    Values expected, gradient;
    for (std::int64_t i = 0; i < x.count(); ++i) {
      expected.push_back(value(c.kind, x.get(i)));
      gradient.push_back(dY.get(i) * slope(c.kind, x.get(i)));
    }
    MILLRACE_COMPARE(y, expected, 2e-7, 1);
    MILLRACE_COMPARE(dX, gradient, 4e-7, 1);
    QVERIFY(y.paddingIntact() && dX.paddingIntact());
    HostTensor inPlace = dY;
    cpu::activationBackward(pool, {inPlace.view(), x.view(), inPlace.view(), c.kind}, c.isa);
    QVERIFY(inPlace.bytes() == dX.bytes());
    HostTensor same = x;
    cpu::activation(pool, {same.view(), same.view(), c.kind}, c.isa);
    QVERIFY(same.bytes() == y.bytes());
    QVERIFY(equalForAllThreadCounts([&](ThreadPool& threads) {
      HostTensor out = c.single(), gradientOut = c.single();
      cpu::activation(threads, {x.view(), out.view(), c.kind}, c.isa);
      cpu::activationBackward(threads, {dY.view(), x.view(), gradientOut.view(), c.kind}, c.isa);
      return std::vector<HostTensor>{out, gradientOut};
    }));
  }

  void gated_data() { addCases(); }
  void gated() {
    const Case c = fetchCase();
    MILLRACE_NEED_ISA(c.isa);
    Random random(12);
    HostTensor gateUp = c.twice().fillNormal(random, 2), dY = c.single().fillNormal(random), y = c.single();
    HostTensor dGateUp = c.twice();
    ThreadPool pool(2);
    cpu::gatedActivation(pool, {gateUp.view(), y.view(), c.kind}, c.isa);
    cpu::gatedActivationBackward(pool, {dY.view(), gateUp.view(), dGateUp.view(), c.kind}, c.isa);

    const auto forward = [&](const Values& p) {
      Values out;
      for (std::int64_t t = 0; t < c.tokens; ++t)
        for (std::int64_t i = 0; i < c.width; ++i) {
          const auto gate = static_cast<std::size_t>(2 * t * c.width + i);
          out.push_back(value(c.kind, p[gate]) * p[gate + static_cast<std::size_t>(c.width)]);
        }
      return out;
    };
    const Values in = gateUp.values(), upstream = dY.values();
    Values gradient(in.size());
    for (std::int64_t t = 0; t < c.tokens; ++t)
      for (std::int64_t i = 0; i < c.width; ++i) {
        const auto gate = static_cast<std::size_t>(2 * t * c.width + i), up = gate + static_cast<std::size_t>(c.width);
        const double d = upstream[static_cast<std::size_t>(t * c.width + i)];
        gradient[gate] = d * in[up] * slope(c.kind, in[gate]);
        gradient[up] = d * value(c.kind, in[gate]);
      }
    if (in.size() < 500) MILLRACE_JACOBIAN([&](const Values& p) { return dot(upstream, forward(p)); }, in, gradient);
    MILLRACE_COMPARE(y, forward(in), 3e-7, 1);
    MILLRACE_COMPARE(dGateUp, gradient, 4e-7, 1);
    QVERIFY(y.paddingIntact() && dGateUp.paddingIntact());
    HostTensor inPlace = gateUp;
    cpu::gatedActivationBackward(pool, {dY.view(), inPlace.view(), inPlace.view(), c.kind}, c.isa);
    QVERIFY(inPlace.bytes() == dGateUp.bytes());
    QVERIFY(equalForAllThreadCounts([&](ThreadPool& threads) {
      HostTensor out = c.single(), gradientOut = c.twice();
      cpu::gatedActivation(threads, {gateUp.view(), out.view(), c.kind}, c.isa);
      cpu::gatedActivationBackward(threads, {dY.view(), gateUp.view(), gradientOut.view(), c.kind}, c.isa);
      return std::vector<HostTensor>{out, gradientOut};
    }));
  }

  /// Far out, values and slopes are those of the asymptotes: never NaN.
  void farOut_data() { addCases(); }
  void farOut() {
    const Case c = fetchCase();
    MILLRACE_NEED_ISA(c.isa);
    if (c.width != 17) return;
    HostTensor x = c.single(), y = c.single(), dY = c.single(), dX = c.single();
    for (std::int64_t i = 0; i < x.count(); ++i) {
      x.set(i, (i % 2 == 0 ? 1 : -1) * std::pow(10.0, 2 + i % 15));
      dY.set(i, 1);
    }
    ThreadPool pool(1);
    cpu::activation(pool, {x.view(), y.view(), c.kind}, c.isa);
    cpu::activationBackward(pool, {dY.view(), x.view(), dX.view(), c.kind}, c.isa);
    for (std::int64_t i = 0; i < x.count(); ++i) {
      const double at = x.get(i), expected = at < 0 ? 0 : c.kind == Activation::ReluSquared ? at * at : at;
      const double gradient = at < 0 ? 0 : c.kind == Activation::ReluSquared ? 2 * at : 1;
      QVERIFY(std::abs(y.get(i) - expected) <= 0.004 * expected + 1e-30);
      QVERIFY(std::abs(dX.get(i) - gradient) <= 0.004 * gradient + 1e-30);
    }
  }

  /// NaN must reach the norm of the gradients, so that the step is discarded.
  void nanStays() {
    for (const auto& a : activations) {
      HostTensor x(DType::F32, {19}), y(DType::F32, {19}), dY(DType::F32, {19}), dX(DType::F32, {19});
      x.set(4, std::numeric_limits<double>::quiet_NaN());
      dY.set(18, std::numeric_limits<double>::quiet_NaN());
      ThreadPool pool(1);
      cpu::activation(pool, {x.view(), y.view(), a.kind});
      cpu::activationBackward(pool, {dY.view(), x.view(), dX.view(), a.kind});
      QVERIFY(std::isnan(y.get(4)) && std::isnan(dX.get(18)));
      QVERIFY(!std::isnan(y.get(5)) && !std::isnan(dX.get(5)));
    }
  }

  void fourDimensions() {
    Random random(1);
    HostTensor x = HostTensor(DType::F32, {2, 3, 4, 5}, 6, 2).fillNormal(random), y(DType::F32, {2, 3, 4, 5}, 1, 3);
    ThreadPool pool(3);
    cpu::activation(pool, {x.view(), y.view(), Activation::Relu});
    for (std::int64_t i = 0; i < x.count(); ++i) QCOMPARE(y.get(i), std::max(0.0, x.get(i)));
    QVERIFY(y.paddingIntact());
  }
};

QTEST_GUILESS_MAIN(TestActivation)
#include "test_activation.moc"
