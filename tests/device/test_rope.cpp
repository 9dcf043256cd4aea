// Rotary positions against float64; the inverse rotation is the transposed Jacobian.
#include "device/cpu/ops/rope.h"
#include "kernel_test.h"

using namespace millrace;
using namespace millrace::test;

namespace {
using Values = std::vector<double>;
}

class TestRope : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void rotates_data() {
    QTest::addColumn<std::int64_t>("tokens");
    QTest::addColumn<std::int64_t>("heads");
    QTest::addColumn<std::int64_t>("dim");
    QTest::addColumn<std::int64_t>("rotated");
    QTest::addColumn<std::int64_t>("pad");
    QTest::addColumn<bool>("bf16");
    QTest::addColumn<int>("isa");
    const struct {
      std::int64_t tokens, heads, dim, rotated, pad;
    } shapes[] = {{1, 1, 2, 2, 0}, {3, 2, 16, 16, 0}, {5, 3, 20, 10, 7}, {4, 1, 33, 24, 1}, {301, 6, 64, 64, 128}};
    for (const auto& s : shapes)
      for (const bool bf16 : {false, true})
        for (const cpu::Isa isa : {cpu::Isa::Baseline, cpu::Isa::Avx2, cpu::Isa::Avx512})
          QTest::addRow("%s %s %dx%dx%d rotated %d pad %d", nameOf(isa), bf16 ? "bf16" : "fp32",
                        static_cast<int>(s.tokens), static_cast<int>(s.heads), static_cast<int>(s.dim),
                        static_cast<int>(s.rotated), static_cast<int>(s.pad))
              << s.tokens << s.heads << s.dim << s.rotated << s.pad << bf16 << static_cast<int>(isa);
  }

  void rotates() {
    QFETCH(std::int64_t, tokens);
    QFETCH(std::int64_t, heads);
    QFETCH(std::int64_t, dim);
    QFETCH(std::int64_t, rotated);
    QFETCH(std::int64_t, pad);
    QFETCH(bool, bf16);
    QFETCH(int, isa);
    MILLRACE_NEED_ISA(static_cast<cpu::Isa>(isa));
    Random random(5);
    const DType dtype = bf16 ? DType::BF16 : DType::F32;
    const std::int64_t positions = 40, half = rotated / 2;
    HostTensor x = HostTensor(dtype, {tokens, heads, dim}, pad, pad / 2).fillNormal(random);
    HostTensor table(DType::F32, {positions, rotated}, 3), where(DType::I32, {tokens});
    for (std::int64_t p = 0; p < positions; ++p)
      for (std::int64_t i = 0; i < half; ++i) {
        const double angle =
            static_cast<double>(p) * std::pow(10000.0, -2.0 * static_cast<double>(i) / static_cast<double>(rotated));
        table.set(p * rotated + i, 1.1 * std::cos(angle)); // an attention factor, as yarn has
        table.set(p * rotated + half + i, 1.1 * std::sin(angle));
      }
    for (std::int64_t t = 0; t < tokens; ++t) where.set(t, static_cast<double>(random.below(positions)));

    const auto rotate = [&](const Values& in, bool inverse) {
      Values out = in;
      for (std::int64_t t = 0; t < tokens; ++t)
        for (std::int64_t h = 0; h < heads; ++h)
          for (std::int64_t i = 0; i < half; ++i) {
            const auto row = static_cast<std::int64_t>(where.get(t)) * rotated;
            const double c = table.get(row + i), s = table.get(row + half + i) * (inverse ? -1 : 1);
            const auto low = static_cast<std::size_t>((t * heads + h) * dim + i),
                       high = low + static_cast<std::size_t>(half);
            out[low] = in[low] * c - in[high] * s;
            out[high] = in[high] * c + in[low] * s;
          }
      return out;
    };
    HostTensor dY = HostTensor(dtype, {tokens, heads, dim}, pad, pad / 2).fillNormal(random);
    const Values forward = rotate(x.values(), false), backward = rotate(dY.values(), true);
    if (x.count() < 400)
      MILLRACE_JACOBIAN([&](const Values& p) { return dot(dY.values(), rotate(p, false)); }, x.values(), backward);

    ThreadPool pool(2);
    HostTensor y = x, dX = dY;
    cpu::rope(pool, {y.view(), table.view(), where.view(), false}, static_cast<cpu::Isa>(isa));
    cpu::rope(pool, {dX.view(), table.view(), where.view(), true}, static_cast<cpu::Isa>(isa));
    MILLRACE_COMPARE(y, forward, 2e-7);
    MILLRACE_COMPARE(dX, backward, 2e-7);
    QVERIFY(y.paddingIntact() && dX.paddingIntact());
    QVERIFY(equalForAllThreadCounts([&](ThreadPool& threads) {
      HostTensor out = x;
      cpu::rope(threads, {out.view(), table.view(), where.view(), false}, static_cast<cpu::Isa>(isa));
      return std::vector<HostTensor>{out};
    }));
  }
};

QTEST_GUILESS_MAIN(TestRope)
#include "test_rope.moc"
