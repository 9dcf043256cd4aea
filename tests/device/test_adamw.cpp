// Host AdamW: equal bits for every instruction set and thread count, the float64 method within rounding, and the split
// of a master weight over all 2^32 floats.
#include "device/cpu/ops/adamw.h"
#include "ops/adamw.h"

#include "base/bf16.h"
#include "base/random.h"

#include <QtTest>

#include <atomic>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

using namespace millrace;

namespace {

// Sanitizers make the walks over all floats too slow; they see every 61st there.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t floatStep = 61;
#else
constexpr std::uint64_t floatStep = 1;
#endif

constexpr AdamWIsa vectorIsas[] = {AdamWIsa::Avx2, AdamWIsa::Avx512};

const char* nameOf(AdamWIsa isa) {
  return isa == AdamWIsa::Scalar ? "scalar" : isa == AdamWIsa::Avx2 ? "avx2" : "avx512";
}

enum class Kind { Normal, Tiny, Denormal, Huge, Special, AnyBits };
constexpr struct {
  Kind kind;
  const char* name;
} kinds[] = {{Kind::Normal, "normal"}, {Kind::Tiny, "tiny"},       {Kind::Denormal, "denormal"},
             {Kind::Huge, "huge"},     {Kind::Special, "special"}, {Kind::AnyBits, "any bits"}};

float draw(Random& random, Kind kind) {
  const float sign = random.below(2) == 0 ? 1.0f : -1.0f;
  switch (kind) {
  case Kind::Normal:
    return static_cast<float>(random.normal());
  case Kind::Tiny: // products of these are denormal or vanish
    return sign * static_cast<float>(std::exp2(-60.0 - 60.0 * random.uniform()));
  case Kind::Denormal:
    return std::bit_cast<float>(static_cast<std::uint32_t>(random.below(0x800000)) | (sign < 0 ? 0x80000000u : 0u));
  case Kind::Huge:
    return sign * static_cast<float>(std::exp2(100.0 + 27.9 * random.uniform()));
  case Kind::Special: {
    const float infinity = std::numeric_limits<float>::infinity();
    const float values[] = {0.0f,
                            -0.0f,
                            infinity,
                            -infinity,
                            1.0f,
                            std::numeric_limits<float>::max(),
                            std::numeric_limits<float>::min(),
                            std::numeric_limits<float>::denorm_min(),
                            std::numeric_limits<float>::quiet_NaN()};
    return values[random.below(std::size(values))];
  }
  case Kind::AnyBits:
    return std::bit_cast<float>(static_cast<std::uint32_t>(random.next() >> 32));
  }
  return 0;
}

/// One parameter range in both forms, with marks around it.
struct State {
  static constexpr std::size_t margin = 16;
  std::vector<float> weight, m, v, gradient;
  std::vector<std::uint16_t> hi, gradient16;
  std::vector<std::int16_t> lo;
  std::size_t count = 0;

  State(std::size_t n, Random& random, Kind kind) : count(n) {
    for (std::size_t i = 0; i < n + 2 * margin; ++i) {
      weight.push_back(draw(random, kind));
      m.push_back(draw(random, kind));
      // Negative second moments do not exist, but their NaN must come out everywhere alike.
      v.push_back(kind == Kind::AnyBits ? draw(random, kind) : std::abs(draw(random, kind)));
      gradient.push_back(draw(random, kind));
      gradient16.push_back(toBFloat16(gradient.back()).bits);
      const SplitWeight split = splitWeight(weight.back());
      hi.push_back(split.hi);
      lo.push_back(split.lo);
    }
  }

  AdamWArgs args(bool split, bool bf16, bool decay, const AdamWScalars& scalars) {
    const Shape shape{static_cast<std::int64_t>(count)};
    AdamWArgs a;
    if (split) {
      a.hi = TensorView(hi.data() + margin, DType::U16, shape);
      a.lo = TensorView(lo.data() + margin, DType::I16, shape);
    } else {
      a.weight = TensorView(weight.data() + margin, DType::F32, shape);
    }
    a.m = TensorView(m.data() + margin, DType::F32, shape);
    a.v = TensorView(v.data() + margin, DType::F32, shape);
    a.gradient = bf16 ? TensorView(gradient16.data() + margin, DType::BF16, shape)
                      : TensorView(gradient.data() + margin, DType::F32, shape);
    a.scalars = scalars;
    a.decay = decay;
    return a;
  }
};

/// Equal bits; where both are NaN, the sign and payload are the processor's choice.
bool same(const std::vector<float>& a, const std::vector<float>& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (std::bit_cast<std::uint32_t>(a[i]) != std::bit_cast<std::uint32_t>(b[i]) &&
        !(std::isnan(a[i]) && std::isnan(b[i])))
      return false;
  return true;
}

bool sameSplit(const State& a, const State& b) {
  for (std::size_t i = 0; i < a.hi.size(); ++i)
    if ((a.hi[i] != b.hi[i] || a.lo[i] != b.lo[i]) &&
        !(std::isnan(joinWeight(a.hi[i], a.lo[i])) && std::isnan(joinWeight(b.hi[i], b.lo[i]))))
      return false;
  return true;
}

bool same(const State& a, const State& b) {
  return same(a.weight, b.weight) && same(a.m, b.m) && same(a.v, b.v) && sameSplit(a, b);
}

AdamWScalars scalarsAt(int step) {
  AdamWScalars s;
  s.beta1 = 0.9f;
  s.oneMinusBeta1 = static_cast<float>(1 - 0.9);
  s.beta2 = 0.95f;
  s.oneMinusBeta2 = static_cast<float>(1 - 0.95);
  s.epsilon = 1e-8f;
  s.stepSize = static_cast<float>(3e-3 / (1 - std::pow(0.9, step)));
  s.inverseSqrtBias2 = static_cast<float>(1 / std::sqrt(1 - std::pow(0.95, step)));
  s.decayFactor = static_cast<float>(1 - 3e-3 * 0.1);
  s.gradientScale = 0.73f;
  return s;
}

} // namespace

class TestAdamW : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void bitsAgree_data() {
    QTest::addColumn<int>("isa");
    QTest::addColumn<bool>("split");
    QTest::addColumn<bool>("bf16");
    QTest::addColumn<bool>("decay");
    QTest::addColumn<int>("kind");
    for (const AdamWIsa isa : vectorIsas)
      for (const bool split : {false, true})
        for (const bool bf16 : {false, true})
          for (const bool decay : {false, true})
            for (const auto& k : kinds)
              QTest::addRow("%s %s %s gradient %s %s", nameOf(isa), split ? "split" : "fp32", bf16 ? "bf16" : "fp32",
                            decay ? "decay" : "no decay", k.name)
                  << static_cast<int>(isa) << split << bf16 << decay << static_cast<int>(k.kind);
  }
  void bitsAgree() {
    QFETCH(int, isa);
    QFETCH(bool, split);
    QFETCH(bool, bf16);
    QFETCH(bool, decay);
    QFETCH(int, kind);
    const auto vector = static_cast<AdamWIsa>(isa);
    if (!supported(vector)) QSKIP(qPrintable(QString("this processor has no %1").arg(nameOf(vector))));
    Random random(1, static_cast<std::uint64_t>(kind));
    std::vector<std::size_t> sizes;
    for (std::size_t n = 1; n <= 67; ++n) sizes.push_back(n);
    sizes.push_back(4096);
    for (const std::size_t n : sizes) {
      State scalar(n, random, static_cast<Kind>(kind));
      State wide = scalar;
      for (int step = 1; step <= 3; ++step) {
        adamWUpdate(scalar.args(split, bf16, decay, scalarsAt(step)), AdamWIsa::Scalar);
        adamWUpdate(wide.args(split, bf16, decay, scalarsAt(step)), vector);
        QVERIFY2(same(scalar, wide), qPrintable(QString("%1 elements, step %2").arg(n).arg(step)));
      }
    }
  }

  /// The split planes and fp32 weights are the same numbers all the way.
  void splitEqualsFp32() {
    Random random(2);
    State split(1000, random, Kind::Normal), plain = split;
    for (int step = 1; step <= 20; ++step) {
      for (const bool isSplit : {false, true}) {
        State& state = isSplit ? split : plain;
        adamWUpdate(state.args(isSplit, false, true, scalarsAt(step)), bestAdamWIsa());
      }
    }
    for (std::size_t i = State::margin; i < State::margin + 1000; ++i)
      QCOMPARE(std::bit_cast<std::uint32_t>(joinWeight(split.hi[i], split.lo[i])),
               std::bit_cast<std::uint32_t>(plain.weight[i]));
  }

  void outsideUntouched() {
    Random random(3);
    for (const AdamWIsa isa : {AdamWIsa::Scalar, AdamWIsa::Avx2, AdamWIsa::Avx512}) {
      if (!supported(isa)) continue;
      for (const bool split : {false, true}) {
        State state(37, random, Kind::Normal);
        const State before = state;
        adamWUpdate(state.args(split, false, true, scalarsAt(1)), isa);
        for (std::size_t i = 0; i < before.m.size(); ++i) {
          const bool inside = i >= State::margin && i < State::margin + 37;
          QCOMPARE(state.m[i] == before.m[i] && state.v[i] == before.v[i], !inside);
          QCOMPARE(state.weight[i] == before.weight[i], !inside || split);
          if (!inside || !split) QVERIFY(state.hi[i] == before.hi[i] && state.lo[i] == before.lo[i]);
        }
      }
    }
  }

  void threadsAgree() {
    Random random(4);
    State first(300007, random, Kind::Normal);
    const State before = first;
    adamWUpdate(first.args(true, true, true, scalarsAt(4)), bestAdamWIsa());
    for (const int threads : {1, 2, 3, 5}) {
      ThreadPool pool(threads);
      State other = before;
      adamWUpdate(pool, other.args(true, true, true, scalarsAt(4)), bestAdamWIsa());
      QVERIFY(same(first, other));
      // As many ranges of all lengths, as an embedding's rows are.
      State cut = before;
      std::vector<AdamWArgs> ranges;
      const AdamWArgs all = cut.args(true, true, true, scalarsAt(4));
      for (std::int64_t at = 0, count = 1; at < 300007; at += count, count = count % 100000 * 3 + 1) {
        count = std::min<std::int64_t>(count, 300007 - at);
        ranges.push_back(ops::rangeOf(all, at, count));
      }
      QVERIFY(ranges.size() > 8);
      adamWUpdate(pool, ranges, bestAdamWIsa());
      QVERIFY(same(first, cut));
    }
  }

  void denormalsSurvive_data() {
    QTest::addColumn<int>("isa");
    for (const AdamWIsa isa : {AdamWIsa::Scalar, AdamWIsa::Avx2, AdamWIsa::Avx512})
      QTest::newRow(nameOf(isa)) << static_cast<int>(isa);
  }
  void denormalsSurvive() {
    QFETCH(int, isa);
    if (!supported(static_cast<AdamWIsa>(isa)))
      QSKIP(qPrintable(QString("this processor has no %1").arg(nameOf(static_cast<AdamWIsa>(isa)))));
    Random random(5);
    State state(32, random, Kind::Denormal);
    for (float& value : state.m) value = 1e-40f;
    for (float& value : state.v) value = 1e-42f;
    for (float& value : state.gradient) value = 0;
    adamWUpdate(state.args(false, false, false, scalarsAt(1)), static_cast<AdamWIsa>(isa));
    for (std::size_t i = State::margin; i < State::margin + 32; ++i) {
      QCOMPARE(std::fpclassify(state.m[i]), FP_SUBNORMAL);
      QCOMPARE(std::fpclassify(state.v[i]), FP_SUBNORMAL);
      QVERIFY(std::abs(static_cast<double>(state.m[i]) - 0.9e-40) < 2e-45);
    }
  }

  /// Loshchilov and Hutter in float64, in PyTorch's order: decay the weight, then
  /// w -= lr / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) + eps).
  void followsTheMethod_data() {
    QTest::addColumn<bool>("decay");
    QTest::newRow("decay") << true;
    QTest::newRow("no decay") << false;
  }
  void followsTheMethod() {
    QFETCH(bool, decay);
    const double lr = 3e-3, beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8, weightDecay = 0.1, clip = 0.73;
    Random random(6);
    State state(500, random, Kind::Normal);
    for (float& v : state.v) v = 0;
    for (float& m : state.m) m = 0;
    std::vector<double> w(state.weight.begin(), state.weight.end()), m(w.size()), v(w.size());
    for (int step = 1; step <= 60; ++step) {
      for (std::size_t i = 0; i < w.size(); ++i) {
        state.gradient[i] = static_cast<float>(random.normal() * std::pow(10.0, static_cast<double>(i % 9) - 6.0));
        const double g = static_cast<double>(state.gradient[i]) * clip;
        m[i] = beta1 * m[i] + (1 - beta1) * g;
        v[i] = beta2 * v[i] + (1 - beta2) * g * g;
        if (decay) w[i] *= 1 - lr * weightDecay;
        const double denominator = std::sqrt(v[i]) / std::sqrt(1 - std::pow(beta2, step)) + epsilon;
        w[i] -= lr / (1 - std::pow(beta1, step)) * m[i] / denominator;
      }
      adamWUpdate(state.args(false, false, decay, scalarsAt(step)), bestAdamWIsa());
    }
    for (std::size_t i = State::margin; i < State::margin + 500; ++i) {
      QVERIFY2(std::abs(static_cast<double>(state.weight[i]) - w[i]) <= 60 * 1.2e-7 * (std::abs(w[i]) + 0.01),
               qPrintable(QString("%1 against %2").arg(static_cast<double>(state.weight[i])).arg(w[i])));
      QVERIFY(std::abs(static_cast<double>(state.v[i]) - v[i]) <= 1e-5 * v[i]);
    }
  }

  void splitOfEveryFloat() {
    std::atomic<std::uint64_t> broken{0};
    ThreadPool pool(2);
    pool.parallelFor(65536, [&](std::int64_t part) {
      const auto upper = static_cast<std::uint32_t>(part);
      if (upper % floatStep != 0) return;
      std::uint32_t wrong = 0; // no branches: this walks over four thousand million floats
      for (std::uint32_t lower = 0; lower < 65536; ++lower) {
        const std::uint32_t bits = (upper << 16) | lower;
        const SplitWeight split = splitWeight(std::bit_cast<float>(bits));
        const auto joined = std::bit_cast<std::uint32_t>(joinWeight(split.hi, split.lo));
        const std::uint32_t hi = split.hi;
        const bool nan = (bits & 0x7FFFFFFFu) > 0x7F800000u;
        const bool nanLost = (joined & 0x7FFFFFFFu) <= 0x7F800000u || ((joined ^ bits) >> 31) != 0 ||
                             (hi & 0x7FFFu) <= 0x7F80u || (hi >> 15) != (bits >> 31);
        // hi is the nearest bf16: half a step or more goes up in magnitude, so that ties go away from zero.
        const bool valueLost = joined != bits || hi != upper + (lower >> 15);
        wrong += static_cast<std::uint32_t>(nan ? nanLost : valueLost);
      }
      broken += wrong;
    });
    QCOMPARE(broken.load(), std::uint64_t{0});
  }

  /// With zero moments and gradients the update leaves weights alone, so it does nothing but join and split them.
  void vectorSplitOfEveryFloat_data() {
    QTest::addColumn<int>("isa");
    for (const AdamWIsa isa : vectorIsas) QTest::newRow(nameOf(isa)) << static_cast<int>(isa);
  }
  void vectorSplitOfEveryFloat() {
    QFETCH(int, isa);
    const auto vector = static_cast<AdamWIsa>(isa);
    if (!supported(vector)) QSKIP(qPrintable(QString("this processor has no %1").arg(nameOf(vector))));
    std::atomic<std::uint64_t> broken{0};
    ThreadPool pool(2);
    pool.parallelFor(65536, [&](std::int64_t part) {
      constexpr std::size_t count = 65536;
      if (static_cast<std::uint64_t>(part) % floatStep != 0) return;
      thread_local std::vector<float> m(count), v(count), gradient(count);
      thread_local std::vector<std::uint16_t> hi(count), expectedHi(count);
      thread_local std::vector<std::int16_t> lo(count), expectedLo(count);
      for (std::size_t i = 0; i < count; ++i) {
        const float master =
            std::bit_cast<float>(static_cast<std::uint32_t>((static_cast<std::uint64_t>(part) << 16) + i));
        const SplitWeight split = splitWeight(master);
        expectedHi[i] = split.hi;
        expectedLo[i] = split.lo;
      }
      hi = expectedHi;
      lo = expectedLo;
      const Shape shape{static_cast<std::int64_t>(count)};
      AdamWArgs args;
      args.hi = TensorView(hi.data(), DType::U16, shape);
      args.lo = TensorView(lo.data(), DType::I16, shape);
      args.m = TensorView(m.data(), DType::F32, shape);
      args.v = TensorView(v.data(), DType::F32, shape);
      args.gradient = TensorView(gradient.data(), DType::F32, shape);
      args.scalars = scalarsAt(1);
      adamWUpdate(args, vector);
      if (hi != expectedHi || lo != expectedLo) ++broken;
    });
    QCOMPARE(broken.load(), std::uint64_t{0});
  }
};

QTEST_GUILESS_MAIN(TestAdamW)
#include "test_adamw.moc"
