// Embedding rows and the gradient of the table against float64.
#include "device/cpu/ops/embedding.h"
#include "kernel_test.h"

#include <numeric>

using namespace millrace;
using namespace millrace::test;

namespace {
using Values = std::vector<double>;
}

class TestEmbedding : public QObject {
  Q_OBJECT

  static void addCases() {
    QTest::addColumn<std::int64_t>("tokens");
    QTest::addColumn<std::int64_t>("rows");
    QTest::addColumn<std::int64_t>("width");
    QTest::addColumn<std::int64_t>("pad");
    QTest::addColumn<bool>("bf16");
    QTest::addColumn<int>("isa");
    const struct {
      std::int64_t tokens, rows, width, pad;
    } shapes[] = {{1, 1, 1, 0}, {6, 4, 5, 0}, {9, 5, 19, 3}, {1, 300, 64, 0}, {500, 37, 260, 4}};
    for (const auto& s : shapes)
      for (const bool bf16 : {false, true})
        for (const cpu::Isa isa : {cpu::Isa::Baseline, cpu::Isa::Avx2, cpu::Isa::Avx512})
          QTest::addRow("%s %s %d tokens of %d rows of %d pad %d", nameOf(isa), bf16 ? "bf16" : "fp32",
                        static_cast<int>(s.tokens), static_cast<int>(s.rows), static_cast<int>(s.width),
                        static_cast<int>(s.pad))
              << s.tokens << s.rows << s.width << s.pad << bf16 << static_cast<int>(isa);
  }

 private Q_SLOTS:
  void gathers_data() { addCases(); }
  void gathers() {
    QFETCH(std::int64_t, tokens);
    QFETCH(std::int64_t, rows);
    QFETCH(std::int64_t, width);
    QFETCH(std::int64_t, pad);
    QFETCH(bool, bf16);
    QFETCH(int, isa);
    MILLRACE_NEED_ISA(static_cast<cpu::Isa>(isa));
    Random random(5);
    const DType dtype = bf16 ? DType::BF16 : DType::F32;
    HostTensor table = HostTensor(dtype, {rows, width}, pad).fillNormal(random);
    HostTensor positionTable = HostTensor(dtype, {tokens, width}).fillNormal(random);
    HostTensor ids(DType::I32, {tokens}), positions(DType::I32, {tokens}), x(dtype, {tokens, width}, 2 * pad);
    Values alone, both;
    for (std::int64_t t = 0; t < tokens; ++t) {
      const auto id = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(rows)));
      const std::int64_t position = tokens - 1 - t;
      ids.set(t, static_cast<double>(id));
      positions.set(t, static_cast<double>(position));
      for (std::int64_t i = 0; i < width; ++i) {
        alone.push_back(table.get(id * width + i));
        both.push_back(table.get(id * width + i) + positionTable.get(position * width + i));
      }
    }
    ThreadPool pool(2);
    cpu::embedding(pool, {table.view(), ids.view(), x.view(), {}, {}}, static_cast<cpu::Isa>(isa));
    QVERIFY(x.values() == alone);
    QVERIFY(x.paddingIntact());
    cpu::embedding(pool, {table.view(), ids.view(), x.view(), positionTable.view(), positions.view()},
                   static_cast<cpu::Isa>(isa));
    MILLRACE_COMPARE(x, both, 1e-7);
    QVERIFY(x.paddingIntact());

    constexpr float scale = 7.75f; // of the table's rows alone
    Values scaled;
    for (std::size_t i = 0; i < alone.size(); ++i)
      scaled.push_back(both[i] + (static_cast<double>(scale) - 1) * alone[i]);
    cpu::embedding(pool, {table.view(), ids.view(), x.view(), positionTable.view(), positions.view(), scale},
                   static_cast<cpu::Isa>(isa));
    MILLRACE_COMPARE(x, scaled, 1e-6);
    QVERIFY(x.paddingIntact());
  }

  void gradient_data() { addCases(); }
  void gradient() {
    QFETCH(std::int64_t, tokens);
    QFETCH(std::int64_t, rows);
    QFETCH(std::int64_t, width);
    QFETCH(std::int64_t, pad);
    QFETCH(bool, bf16);
    QFETCH(int, isa);
    MILLRACE_NEED_ISA(static_cast<cpu::Isa>(isa));
    Random random(6);
    HostTensor dX = HostTensor(bf16 ? DType::BF16 : DType::F32, {tokens, width}, pad).fillNormal(random);
    std::vector<std::int64_t> ids;
    // A few rows take most tokens; some none.
    for (std::int64_t t = 0; t < tokens; ++t)
      ids.push_back(
          static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(t % 3 == 0 ? rows : (rows + 3) / 4))));
    std::vector<std::int64_t> sorted(ids.size());
    std::iota(sorted.begin(), sorted.end(), 0);
    std::stable_sort(sorted.begin(), sorted.end(), [&](std::int64_t a, std::int64_t b) {
      return ids[static_cast<std::size_t>(a)] < ids[static_cast<std::size_t>(b)];
    });
    HostTensor order(DType::I32, {tokens}), starts(DType::I32, {rows + 1});
    for (std::int64_t t = 0; t < tokens; ++t) order.set(t, static_cast<double>(sorted[static_cast<std::size_t>(t)]));
    for (std::int64_t u = 0; u <= rows; ++u)
      starts.set(u,
                 static_cast<double>(std::count_if(ids.begin(), ids.end(), [&](std::int64_t id) { return id < u; })));

    Values expected(static_cast<std::size_t>(rows * width));
    for (std::int64_t t = 0; t < tokens; ++t)
      for (std::int64_t i = 0; i < width; ++i)
        expected[static_cast<std::size_t>(ids[static_cast<std::size_t>(t)] * width + i)] += dX.get(t * width + i);
    if (rows * width < 400)
      MILLRACE_JACOBIAN(
          [&](const Values& table) {
            double loss = 0;
            for (std::int64_t t = 0; t < tokens; ++t)
              for (std::int64_t i = 0; i < width; ++i)
                loss += dX.get(t * width + i) *
                        table[static_cast<std::size_t>(ids[static_cast<std::size_t>(t)] * width + i)];
            return loss;
          },
          Values(expected.size(), 0.5), expected);

    constexpr float scale = 3.25f;
    for (double& value : expected) value *= static_cast<double>(scale);
    const auto run = [&](ThreadPool& pool) {
      HostTensor dTable(DType::F32, {rows, width}, pad);
      for (std::int64_t i = 0; i < dTable.count(); ++i) dTable.set(i, 77); // written, not added to
      cpu::embeddingBackward(pool, {dX.view(), order.view(), starts.view(), dTable.view(), scale},
                             static_cast<cpu::Isa>(isa));
      return std::vector<HostTensor>{dTable};
    };
    ThreadPool pool(2);
    const HostTensor dTable = run(pool)[0];
    MILLRACE_COMPARE(dTable, expected, 1e-6);
    QVERIFY(dTable.paddingIntact());
    QVERIFY(equalForAllThreadCounts(run));
  }

  void addsRows_data() { addCases(); }
  void addsRows() {
    QFETCH(std::int64_t, tokens);
    QFETCH(std::int64_t, rows);
    QFETCH(std::int64_t, width);
    QFETCH(std::int64_t, pad);
    QFETCH(int, isa);
    MILLRACE_NEED_ISA(static_cast<cpu::Isa>(isa));
    Random random(static_cast<std::uint64_t>(tokens));
    // Every row, every third one, and none by name; the index holds all rows times two.
    for (const std::int64_t apart : {1, 3}) {
      const std::int64_t count = (rows + apart - 1) / apart;
      HostTensor source = HostTensor(DType::F32, {count, width}, pad).fillNormal(random);
      const HostTensor before = HostTensor(DType::F32, {rows, width}, 2 * pad).fillNormal(random);
      HostTensor listed(DType::I32, {count}), doubled(DType::I32, {count}), index(DType::I32, {rows});
      for (std::int64_t i = 0; i < rows; ++i) index.set(i, static_cast<double>(2 * i));
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t row = apart * (count - 1 - i);
        listed.set(i, static_cast<double>(row));
        doubled.set(i, static_cast<double>(2 * row));
      }
      for (const int way : {0, 1, 2}) {
        Values expected = before.values();
        for (std::int64_t i = 0; i < count; ++i)
          for (std::int64_t c = 0; c < width; ++c) {
            double& sum = expected[static_cast<std::size_t>((way == 0 ? i : apart * (count - 1 - i)) * width + c)];
            sum = static_cast<double>(static_cast<float>(sum) + static_cast<float>(source.get(i * width + c)));
          }
        HostTensor target = before;
        AddRowsArgs args;
        args.source = source.view();
        args.target = target.view();
        if (way > 0) args.rows = way == 1 ? listed.view() : doubled.view();
        if (way == 2) args.index = index.view();
        ThreadPool pool(3);
        cpu::addRows(pool, args, static_cast<cpu::Isa>(isa));
        QVERIFY(target.values() == expected);
        QVERIFY(target.paddingIntact());
      }
    }
  }
};

QTEST_GUILESS_MAIN(TestEmbedding)
#include "test_embedding.moc"
