// RMSNorm and LayerNorm against float64, forward and backward.
#include "device/cpu/ops/layer_norm.h"
#include "device/cpu/ops/rms_norm.h"
#include "kernel_test.h"

using namespace millrace;
using namespace millrace::test;

namespace {

struct Case {
  std::int64_t tokens = 1, heads = 0, width = 1; ///< heads 0: (tokens, width)
  std::int64_t pad = 0;
  DType dtype = DType::F32;
  cpu::Isa isa = cpu::Isa::Baseline;

  std::int64_t rows() const { return tokens * std::max<std::int64_t>(heads, 1); }
  Shape shape() const { return heads == 0 ? Shape{tokens, width} : Shape{tokens, heads, width}; }
  Shape rowShape() const { return heads == 0 ? Shape{tokens} : Shape{tokens, heads}; }
  HostTensor activation() const { return HostTensor(dtype, shape(), pad, pad); }
};

void addCases(bool withHeads) {
  QTest::addColumn<std::int64_t>("tokens");
  QTest::addColumn<std::int64_t>("heads");
  QTest::addColumn<std::int64_t>("width");
  QTest::addColumn<std::int64_t>("pad");
  QTest::addColumn<bool>("bf16");
  QTest::addColumn<int>("isa");
  const struct {
    std::int64_t tokens, heads, width, pad;
  } shapes[] = {{1, 0, 1, 0},     {1, 0, 7, 0},  {3, 0, 16, 5}, {5, 0, 67, 3},  {2, 0, 131, 0},   {1, 0, 8191, 0},
                {70, 0, 1027, 1}, {4, 3, 16, 0}, {5, 2, 33, 7}, {3, 4, 64, 64}, {300, 5, 128, 32}};
  for (const auto& s : shapes) {
    if (s.heads != 0 && !withHeads) continue;
    for (const bool bf16 : {false, true})
      for (const cpu::Isa isa : {cpu::Isa::Baseline, cpu::Isa::Avx2, cpu::Isa::Avx512})
        QTest::addRow("%s %s %dx%dx%d pad %d", nameOf(isa), bf16 ? "bf16" : "fp32", static_cast<int>(s.tokens),
                      static_cast<int>(s.heads), static_cast<int>(s.width), static_cast<int>(s.pad))
            << s.tokens << s.heads << s.width << s.pad << bf16 << static_cast<int>(isa);
  }
}

Case fetchCase() {
  QFETCH(std::int64_t, tokens);
  QFETCH(std::int64_t, heads);
  QFETCH(std::int64_t, width);
  QFETCH(std::int64_t, pad);
  QFETCH(bool, bf16);
  QFETCH(int, isa);
  return {tokens, heads, width, pad, bf16 ? DType::BF16 : DType::F32, static_cast<cpu::Isa>(isa)};
}

using Values = std::vector<double>;

/// float64, whole tensors as flat rows.
struct Reference {
  std::int64_t rows, width;
  double epsilon;
  bool layer;

  double mean(const Values& x, std::int64_t r) const {
    double sum = 0;
    for (std::int64_t i = 0; layer && i < width; ++i) sum += x[at(r, i)];
    return sum / static_cast<double>(width);
  }
  double rstd(const Values& x, std::int64_t r) const {
    const double m = mean(x, r);
    double sum = 0;
    for (std::int64_t i = 0; i < width; ++i) sum += (x[at(r, i)] - m) * (x[at(r, i)] - m);
    return 1 / std::sqrt(sum / static_cast<double>(width) + epsilon);
  }
  Values forward(const Values& x, const Values& weight, const Values& bias) const {
    Values y(x.size());
    for (std::int64_t r = 0; r < rows; ++r) {
      const double m = mean(x, r), s = rstd(x, r);
      for (std::int64_t i = 0; i < width; ++i)
        y[at(r, i)] = (x[at(r, i)] - m) * s * weight[static_cast<std::size_t>(i)] +
                      (layer ? bias[static_cast<std::size_t>(i)] : 0.0);
    }
    return y;
  }
  struct Gradients {
    Values dX, dWeight, dBias;
  };
  Gradients backward(const Values& dY, const Values& x, const Values& weight) const {
    Gradients g{Values(x.size()), Values(static_cast<std::size_t>(width)), Values(static_cast<std::size_t>(width))};
    for (std::int64_t r = 0; r < rows; ++r) {
      const double m = mean(x, r), s = rstd(x, r), n = static_cast<double>(width);
      double sum = 0, product = 0;
      for (std::int64_t i = 0; i < width; ++i) {
        const double normed = (x[at(r, i)] - m) * s, upstream = dY[at(r, i)];
        const double scaled = upstream * weight[static_cast<std::size_t>(i)];
        g.dWeight[static_cast<std::size_t>(i)] += upstream * normed;
        g.dBias[static_cast<std::size_t>(i)] += upstream;
        sum += layer ? scaled : 0.0;
        product += scaled * normed;
      }
      for (std::int64_t i = 0; i < width; ++i) {
        const double normed = (x[at(r, i)] - m) * s;
        const double scaled = dY[at(r, i)] * weight[static_cast<std::size_t>(i)];
        g.dX[at(r, i)] = s * (scaled - sum / n - normed * product / n);
      }
    }
    return g;
  }
  std::size_t at(std::int64_t r, std::int64_t i) const { return static_cast<std::size_t>(r * width + i); }
};

Values sum(Values a, const Values& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

Values plusOne(const HostTensor& weight) {
  Values values = weight.values();
  for (double& value : values) value += 1;
  return values;
}

constexpr float epsilon = 1e-5f;

} // namespace

class TestNorms : public QObject {
  Q_OBJECT

  /// The inputs of one case.
  struct Inputs {
    HostTensor x, weight, bias, dY, residual, rstd, mean, dWeight, dBias;
    explicit Inputs(const Case& c) {
      Random random(7, static_cast<std::uint64_t>(c.width * 1000 + c.tokens));
      x = c.activation().fillNormal(random, 1.5, 0.3);
      weight = HostTensor(c.dtype, {c.width}).fillNormal(random, 0.5, 1);
      bias = HostTensor(c.dtype, {c.width}).fillNormal(random);
      dY = c.activation().fillNormal(random);
      residual = c.activation().fillNormal(random);
      rstd = HostTensor(DType::F32, c.rowShape());
      mean = HostTensor(DType::F32, c.rowShape());
      dWeight = HostTensor(DType::F32, {c.width}).fillNormal(random); // accumulated into
      dBias = HostTensor(DType::F32, {c.width}).fillNormal(random);
    }
  };

  static void checkReference(const Reference& reference, const Inputs& in) {
    if (in.x.count() > 400) return;
    const Values x = in.x.values(), weight = in.weight.values(), bias = in.bias.values(), dY = in.dY.values();
    const auto g = reference.backward(dY, x, weight);
    MILLRACE_JACOBIAN([&](const Values& p) { return dot(dY, reference.forward(p, weight, bias)); }, x, g.dX);
    MILLRACE_JACOBIAN([&](const Values& p) { return dot(dY, reference.forward(x, p, bias)); }, weight, g.dWeight);
    if (reference.layer)
      MILLRACE_JACOBIAN([&](const Values& p) { return dot(dY, reference.forward(x, weight, p)); }, bias, g.dBias);
  }

 private Q_SLOTS:
  void rmsNorm_data() { addCases(true); }
  void rmsNorm() {
    const Case c = fetchCase();
    MILLRACE_NEED_ISA(c.isa);
    Inputs in(c);
    const Reference reference{c.rows(), c.width, static_cast<double>(epsilon), false};
    const Values expected = reference.forward(in.x.values(), in.weight.values(), {});
    ThreadPool pool(2);

    HostTensor y = c.activation();
    cpu::rmsNorm(pool, {in.x.view(), in.weight.view(), y.view(), in.rstd.view(), epsilon}, c.isa);
    MILLRACE_COMPARE(y, expected, 1e-6);
    QVERIFY(y.paddingIntact() && in.rstd.paddingIntact());
    for (std::int64_t r = 0; r < c.rows(); ++r) {
      const double rstd = reference.rstd(in.x.values(), r);
      QVERIFY(std::abs(in.rstd.get(r) - rstd) <= 1e-6 * rstd);
      if (c.rows() > 100) break;
    }

    // With an offset of the weights and a residual, whose place y may take.
    HostTensor added = c.activation(), onResidual = in.residual;
    RmsNormArgs args{in.x.view(), in.weight.view(), added.view(), in.rstd.view(), epsilon, 1, in.residual.view()};
    cpu::rmsNorm(pool, args, c.isa);
    MILLRACE_COMPARE(added, sum(in.residual.values(), reference.forward(in.x.values(), plusOne(in.weight), {})), 1e-6);
    QVERIFY(added.paddingIntact());
    args.y = args.residual = onResidual.view();
    cpu::rmsNorm(pool, args, c.isa);
    QVERIFY(onResidual.values() == added.values());

    // y may be x.
    HostTensor same = in.x;
    cpu::rmsNorm(pool, {same.view(), in.weight.view(), same.view(), in.rstd.view(), epsilon}, c.isa);
    QVERIFY(same.bytes() == y.bytes());

    QVERIFY(equalForAllThreadCounts([&](ThreadPool& threads) {
      HostTensor out = c.activation(), rstd = in.rstd;
      cpu::rmsNorm(threads, {in.x.view(), in.weight.view(), out.view(), rstd.view(), epsilon}, c.isa);
      return std::vector<HostTensor>{out, rstd};
    }));
  }

  void rmsNormBackward_data() { addCases(true); }
  void rmsNormBackward() {
    const Case c = fetchCase();
    MILLRACE_NEED_ISA(c.isa);
    Inputs in(c);
    const Reference reference{c.rows(), c.width, static_cast<double>(epsilon), false};
    checkReference(reference, in);
    if (QTest::currentTestFailed()) return;
    ThreadPool pool(2);
    HostTensor y = c.activation();
    cpu::rmsNorm(pool, {in.x.view(), in.weight.view(), y.view(), in.rstd.view(), epsilon}, c.isa);
    const auto g = reference.backward(in.dY.values(), in.x.values(), in.weight.values());
    const auto args = [&](const HostTensor& dY, const HostTensor& dX, const HostTensor& dWeight,
                          const TensorView& residual) {
      return RmsNormBackwardArgs{dY.view(), in.x.view(),    in.weight.view(), in.rstd.view(),
                                 dX.view(), dWeight.view(), residual};
    };

    HostTensor dX = c.activation(), dWeight = in.dWeight;
    cpu::rmsNormBackward(pool, args(in.dY, dX, dWeight, {}), c.isa);
    MILLRACE_COMPARE(dX, g.dX, 3e-6, largest(in.rstd.values()));
    MILLRACE_COMPARE(dWeight, sum(in.dWeight.values(), g.dWeight), 3e-6);
    QVERIFY(dX.paddingIntact() && dWeight.paddingIntact());

    // With an offset of the weights.
    const auto shifted = reference.backward(in.dY.values(), in.x.values(), plusOne(in.weight));
    HostTensor dXShifted = c.activation(), dWeightShifted = in.dWeight;
    RmsNormBackwardArgs offset = args(in.dY, dXShifted, dWeightShifted, {});
    offset.weightOffset = 1;
    cpu::rmsNormBackward(pool, offset, c.isa);
    MILLRACE_COMPARE(dXShifted, shifted.dX, 3e-6, largest(in.rstd.values()));
    QVERIFY(dWeightShifted.bytes() == dWeight.bytes());

    // dX may be dY.
    HostTensor inPlace = in.dY;
    dWeight = in.dWeight;
    cpu::rmsNormBackward(pool, args(inPlace, inPlace, dWeight, {}), c.isa);
    QVERIFY(inPlace.bytes() == [&] {
      HostTensor other = in.dY;
      for (std::int64_t i = 0; i < dX.count(); ++i) other.set(i, dX.get(i));
      return other.bytes();
    }());

    // With a residual, and dX the same memory as the residual.
    HostTensor withResidual = c.activation(), dWeight2 = in.dWeight;
    cpu::rmsNormBackward(pool, args(in.dY, withResidual, dWeight2, in.residual.view()), c.isa);
    MILLRACE_COMPARE(withResidual, sum(in.residual.values(), g.dX), 3e-6, largest(in.rstd.values()));
    QVERIFY(dWeight2.bytes() == dWeight.bytes());
    HostTensor onResidual = in.residual;
    dWeight2 = in.dWeight;
    cpu::rmsNormBackward(pool, args(in.dY, onResidual, dWeight2, onResidual.view()), c.isa);
    QVERIFY(onResidual.values() == withResidual.values());

    QVERIFY(equalForAllThreadCounts([&](ThreadPool& threads) {
      HostTensor out = c.activation(), weight = in.dWeight;
      cpu::rmsNormBackward(threads, args(in.dY, out, weight, in.residual.view()), c.isa);
      return std::vector<HostTensor>{out, weight};
    }));
  }

  void layerNorm_data() { addCases(false); }
  void layerNorm() {
    const Case c = fetchCase();
    MILLRACE_NEED_ISA(c.isa);
    Inputs in(c);
    const Reference reference{c.rows(), c.width, static_cast<double>(epsilon), true};
    const Values expected = reference.forward(in.x.values(), in.weight.values(), in.bias.values());
    ThreadPool pool(2);
    const auto args = [&](const HostTensor& x, const HostTensor& y) {
      return LayerNormArgs{x.view(),       in.weight.view(), in.bias.view(), y.view(),
                           in.mean.view(), in.rstd.view(),   epsilon};
    };
    HostTensor y = c.activation();
    cpu::layerNorm(pool, args(in.x, y), c.isa);
    MILLRACE_COMPARE(y, expected, 1e-6);
    QVERIFY(y.paddingIntact() && in.mean.paddingIntact() && in.rstd.paddingIntact());
    HostTensor same = in.x;
    cpu::layerNorm(pool, args(same, same), c.isa);
    QVERIFY(same.bytes() == y.bytes());
    QVERIFY(equalForAllThreadCounts([&](ThreadPool& threads) {
      HostTensor out = c.activation();
      cpu::layerNorm(threads, args(in.x, out), c.isa);
      return std::vector<HostTensor>{out, in.mean, in.rstd};
    }));
  }

  void layerNormBackward_data() { addCases(false); }
  void layerNormBackward() {
    const Case c = fetchCase();
    MILLRACE_NEED_ISA(c.isa);
    Inputs in(c);
    const Reference reference{c.rows(), c.width, static_cast<double>(epsilon), true};
    checkReference(reference, in);
    if (QTest::currentTestFailed()) return;
    ThreadPool pool(2);
    HostTensor y = c.activation();
    cpu::layerNorm(pool,
                   {in.x.view(), in.weight.view(), in.bias.view(), y.view(), in.mean.view(), in.rstd.view(), epsilon},
                   c.isa);
    const auto g = reference.backward(in.dY.values(), in.x.values(), in.weight.values());
    const auto args = [&](const HostTensor& dY, const HostTensor& dX, const HostTensor& dWeight,
                          const HostTensor& dBias, const TensorView& residual) {
      return LayerNormBackwardArgs{dY.view(), in.x.view(),    in.weight.view(), in.mean.view(), in.rstd.view(),
                                   dX.view(), dWeight.view(), dBias.view(),     residual};
    };
    HostTensor dX = c.activation(), dWeight = in.dWeight, dBias = in.dBias;
    cpu::layerNormBackward(pool, args(in.dY, dX, dWeight, dBias, {}), c.isa);
    MILLRACE_COMPARE(dX, g.dX, 3e-6, largest(in.rstd.values()));
    MILLRACE_COMPARE(dWeight, sum(in.dWeight.values(), g.dWeight), 3e-6);
    MILLRACE_COMPARE(dBias, sum(in.dBias.values(), g.dBias), 3e-6);
    QVERIFY(dX.paddingIntact() && dWeight.paddingIntact() && dBias.paddingIntact());

    HostTensor inPlace = in.dY;
    dWeight = in.dWeight;
    dBias = in.dBias;
    cpu::layerNormBackward(pool, args(inPlace, inPlace, dWeight, dBias, {}), c.isa);
    QVERIFY(inPlace.values() == dX.values());

    HostTensor onResidual = in.residual;
    dWeight = in.dWeight;
    dBias = in.dBias;
    cpu::layerNormBackward(pool, args(in.dY, onResidual, dWeight, dBias, onResidual.view()), c.isa);
    MILLRACE_COMPARE(onResidual, sum(in.residual.values(), g.dX), 3e-6, largest(in.rstd.values()));

    QVERIFY(equalForAllThreadCounts([&](ThreadPool& threads) {
      HostTensor out = c.activation(), weight = in.dWeight, bias = in.dBias;
      cpu::layerNormBackward(threads, args(in.dY, out, weight, bias, in.residual.view()), c.isa);
      return std::vector<HostTensor>{out, weight, bias};
    }));
  }
};

QTEST_GUILESS_MAIN(TestNorms)
#include "test_norms.moc"
