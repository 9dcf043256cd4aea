// Matrix products on the CPU against float64, and their bits across thread counts, strides and addresses.
#include "device/cpu/ops/matmul.h"
#include "device/cpu/ops/matmul_onednn.h"
#include "device/cpu/ops/matmul_plan.h"
#include "device/cpu/ops/matmul_simd.h"
#include "support/matmul_tensors.h"

#include <QtTest>
#include <limits>

using namespace millrace;
using test::MatrixBuffer;

namespace {

struct Case {
  std::int64_t m, n, k;
  bool transposeA = false, transposeB = false, accumulate = false;
  DType operands = DType::F32, result = DType::F32;
  bool bias = false, residual = false, residualIsC = false;
  std::int64_t padding = 0; // extra elements between rows
  std::int64_t offset = 0;  // elements before the first one
};

struct Operands {
  MatrixBuffer a, b, c, bias, residual;

  explicit Operands(const Case& the) {
    const auto matrix = [&](DType dtype, std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
      MatrixBuffer buffer(dtype, rows, columns, columns + the.padding, the.offset);
      buffer.randomize(seed);
      return buffer;
    };
    a = the.transposeA ? matrix(the.operands, the.k, the.m, 1) : matrix(the.operands, the.m, the.k, 1);
    b = the.transposeB ? matrix(the.operands, the.n, the.k, 2) : matrix(the.operands, the.k, the.n, 2);
    c = matrix(the.result, the.m, the.n, 3);
    bias = matrix(the.operands, 1, the.n, 4);
    residual = matrix(the.operands, the.m, the.n, 5);
  }

  MatmulArgs args(const Case& the) const {
    MatmulArgs args;
    args.a = a.view();
    args.b = b.view();
    args.c = c.view();
    args.transposeA = the.transposeA;
    args.transposeB = the.transposeB;
    args.accumulate = the.accumulate;
    if (the.bias) args.bias = TensorView(bias.view().data, the.operands, {the.n});
    if (the.residual) args.residual = the.residualIsC ? c.view() : residual.view();
    return args;
  }
};

std::vector<std::byte> product(const Case& the, int threads) {
  ThreadPool pool(threads);
  const Operands operands(the);
  cpu::matmul(pool, operands.args(the));
  return operands.c.contents();
}

std::vector<Case> allForms(Case the) {
  std::vector<Case> cases;
  for (const bool transposeA : {false, true}) {
    for (const bool transposeB : {false, true}) {
      the.transposeA = transposeA;
      the.transposeB = transposeB;
      cases.push_back(the);
    }
  }
  return cases;
}

void addProducts(double a, const double* b, std::size_t count, double* sum, double* magnitude) {
  for (std::size_t j = 0; j < count; ++j) {
    sum[j] += a * b[j];
    magnitude[j] += std::abs(a * b[j]);
  }
}

QByteArray nameOf(const Case& the) {
  QByteArray name;
  name += the.transposeA ? 'T' : 'N';
  name += the.transposeB ? 'T' : 'N';
  name += QByteArray(" ") + QByteArray::number(qint64(the.m)) + "x" + QByteArray::number(qint64(the.n)) + "x" +
          QByteArray::number(qint64(the.k));
  name += the.operands == DType::BF16 ? " bf16" : " fp32";
  name += the.result == DType::BF16 ? "->bf16" : "->fp32";
  if (the.accumulate) name += " accumulate";
  if (the.bias) name += " bias";
  if (the.residual) name += the.residualIsC ? " residual=c" : " residual";
  if (the.padding) name += " strided";
  if (the.offset) name += " offset";
  return name;
}

void addRow(const Case& the) {
  QTest::newRow(nameOf(the).constData()) << the;
}

void addForms(const Case& the) {
  for (const Case& form : allForms(the)) addRow(form);
}

/// Products whose plans differ: one task, many tiles, cut along the depth, few rows.
const std::vector<Case>& cutCases() {
  static const std::vector<Case> cases = [] {
    std::vector<Case> list;
    const std::int64_t shapes[][3] = {{3, 500, 300}, {40, 30, 20}, {270, 300, 70}, {130, 70, 1100}, {64, 48, 2048}};
    for (const auto& [m, n, k] : shapes) {
      for (const DType operands : {DType::F32, DType::BF16}) {
        for (Case& the : allForms({.m = m, .n = n, .k = k, .operands = operands, .result = operands})) {
          list.push_back(the);
          the.result = DType::F32;
          the.accumulate = true;
          list.push_back(the);
        }
      }
    }
    return list;
  }();
  return cases;
}

} // namespace

Q_DECLARE_METATYPE(Case)

class TestMatmul : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void matchesFloat64_data();
  void matchesFloat64();
  void emptyDepth();
  void bitsDoNotDependOnThreads_data() { cutCasesData(); }
  void bitsDoNotDependOnThreads();
  void bitsDoNotDependOnPlace_data() { cutCasesData(); }
  void bitsDoNotDependOnPlace();
  void plan_data();
  void plan();
  void vectorPieces_data();
  void vectorPieces();
  void notANumberReachesTheResult();

 private:
  void cutCasesData() {
    QTest::addColumn<Case>("the");
    for (const Case& the : cutCases()) addRow(the);
  }
};

void TestMatmul::matchesFloat64_data() {
  QTest::addColumn<Case>("the");
  const std::int64_t sizes[] = {1, 3, 17, 129};
  for (const std::int64_t m : sizes) {
    for (const std::int64_t n : sizes) {
      for (const std::int64_t k : sizes) {
        addForms({.m = m, .n = n, .k = k, .padding = 5});
        addForms({.m = m, .n = n, .k = k, .operands = DType::BF16, .result = DType::BF16, .padding = 5});
      }
    }
  }
  const std::int64_t larger[][3] = {{2, 300, 900},   {4, 129, 1031}, {5, 257, 300},
                                    {260, 140, 258}, {66, 80, 1701}, {300, 270, 33}};
  for (const auto& [m, n, k] : larger) {
    for (const DType operands : {DType::F32, DType::BF16}) {
      addForms({.m = m, .n = n, .k = k, .operands = operands, .result = operands});
      addForms({.m = m, .n = n, .k = k, .accumulate = true, .operands = operands, .result = DType::F32, .padding = 3});
      addForms({.m = m, .n = n, .k = k, .operands = operands, .result = operands, .bias = true, .padding = 8});
      addForms({.m = m, .n = n, .k = k, .operands = operands, .result = operands, .residual = true});
      addForms({.m = m, .n = n, .k = k, .operands = operands, .result = DType::F32, .bias = true, .residual = true});
      addForms({.m = m,
                .n = n,
                .k = k,
                .operands = operands,
                .result = operands,
                .bias = true,
                .residual = true,
                .residualIsC = true,
                .padding = 1});
    }
  }
}

void TestMatmul::matchesFloat64() {
  QFETCH(const Case, the);
  const Operands operands(the), before(the);
  ThreadPool pool(2);
  cpu::matmul(pool, operands.args(the));

  QVERIFY(operands.c.gapsUntouched());
  QVERIFY(operands.a.contents() == before.a.contents());
  QVERIFY(operands.b.contents() == before.b.contents());
  // Sums of k products in fp32 err by about sqrt(k) roundings of the magnitudes summed; bf16 rounds once at the end.
  const double unit = std::ldexp(1.0, -24);
  const double perTerm = unit * (4.0 + std::sqrt(static_cast<double>(the.k)));
  const double last = the.result == DType::BF16 ? std::ldexp(1.0, -8) : unit;
  std::vector<double> bRows; // op(b), row by row
  for (std::int64_t k = 0; k < the.k; ++k) {
    for (std::int64_t j = 0; j < the.n; ++j) bRows.push_back(the.transposeB ? before.b.get(j, k) : before.b.get(k, j));
  }
  const std::size_t n = static_cast<std::size_t>(the.n);
  std::vector<double> expected(n), magnitude(n);
  const std::int64_t step = the.m > 64 ? 3 : 1; // some rows of every tile are enough
  for (std::int64_t i = 0; i < the.m; i += step) {
    for (std::size_t j = 0; j < n; ++j) {
      const auto column = static_cast<std::int64_t>(j);
      const double terms[] = {
          the.accumulate ? before.c.get(i, column) : 0.0, the.bias ? before.bias.get(0, column) : 0.0,
          the.residual ? (the.residualIsC ? before.c.get(i, column) : before.residual.get(i, column)) : 0.0};
      expected[j] = terms[0] + terms[1] + terms[2];
      magnitude[j] = std::abs(terms[0]) + std::abs(terms[1]) + std::abs(terms[2]);
    }
    for (std::int64_t k = 0; k < the.k; ++k) {
      const double a = the.transposeA ? before.a.get(k, i) : before.a.get(i, k);
      const double* const row = bRows.data() + static_cast<std::size_t>(k) * n;
      addProducts(a, row, n, expected.data(), magnitude.data());
    }
    for (std::size_t j = 0; j < n; ++j) {
      const double actual = operands.c.get(i, static_cast<std::int64_t>(j));
      const double bound = perTerm * magnitude[j] + last * std::abs(expected[j]);
      if (!(std::abs(actual - expected[j]) <= bound)) {
        QFAIL(qPrintable(
            QString("(%1, %2): %3, expected %4 within %5").arg(i).arg(j).arg(actual).arg(expected[j]).arg(bound)));
      }
    }
  }
}

void TestMatmul::emptyDepth() {
  ThreadPool pool(2);
  for (Case the : allForms({.m = 70, .n = 80, .k = 0})) {
    for (const bool accumulate : {false, true}) {
      the.accumulate = accumulate;
      const Operands operands(the), before(the);
      cpu::matmul(pool, operands.args(the));
      for (std::int64_t i = 0; i < the.m; ++i) {
        for (std::int64_t j = 0; j < the.n; ++j) {
          QCOMPARE(operands.c.get(i, j), accumulate ? before.c.get(i, j) : 0.0);
        }
      }
    }
  }
}

void TestMatmul::bitsDoNotDependOnThreads() {
  QFETCH(const Case, the);
  const std::vector<std::byte> expected = product(the, 1);
  for (const int threads : {2, 3, 5}) QVERIFY2(product(the, threads) == expected, qPrintable(QString::number(threads)));
}

void TestMatmul::bitsDoNotDependOnPlace() {
  QFETCH(Case, the);
  const std::vector<std::byte> expected = product(the, 2);
  constexpr std::int64_t places[][2] = {{1, 1}, {64, 0}, {3, 16}, {0, 5}}; // padding, offset
  for (const auto& [padding, offset] : places) {
    the.padding = padding;
    the.offset = offset;
    QVERIFY2(product(the, 2) == expected, nameOf(the).constData());
  }
}

void TestMatmul::plan_data() {
  QTest::addColumn<qint64>("m");
  QTest::addColumn<qint64>("n");
  QTest::addColumn<qint64>("k");
  const qint64 shapes[][3] = {{1, 1, 1},        {1, 50257, 768},  {2048, 256, 256},  {8192, 1024, 4096},
                              {256, 256, 8192}, {64, 64, 100000}, {768, 768, 16384}, {17, 4096, 11008},
                              {4096, 16, 64},   {300, 1, 300}};
  for (const auto& [m, n, k] : shapes) {
    QTest::addRow("%lldx%lldx%lld", m, n, k) << m << n << k;
  }
}

void TestMatmul::plan() {
  QFETCH(const qint64, m);
  QFETCH(const qint64, n);
  QFETCH(const qint64, k);
  for (const bool transposeA : {false, true}) {
    for (const bool transposeB : {false, true}) {
      for (const bool bf16 : {false, true}) {
        const cpu::MatmulPlan plan = cpu::planMatmul({m, n, k, transposeA, transposeB, bf16, false});
        // The tiles cover the product exactly, none is empty, and what they need is within what is announced.
        QVERIFY(plan.rowTiles * plan.tileRows >= m && (plan.rowTiles - 1) * plan.tileRows < m);
        QVERIFY(plan.columnTiles * plan.tileColumns >= n && (plan.columnTiles - 1) * plan.tileColumns < n);
        QVERIFY(plan.depthTiles * plan.tileDepth >= k && (plan.depthTiles - 1) * plan.tileDepth < k);
        if (m * n * k >= (qint64(1) << 25) && !plan.fewRows) QVERIFY2(plan.tasks() >= 16, "too few tasks to share out");
        if (plan.depthTiles > 1) {
          QVERIFY(plan.depthTiles * m * n * qint64(sizeof(float)) <= cpu::matmulPartialBytesLimit());
        }
      }
    }
  }
}

void TestMatmul::vectorPieces_data() {
  QTest::addColumn<int>("isa");
  for (const cpu::Isa isa : {cpu::Isa::Baseline, cpu::Isa::Avx2, cpu::Isa::Avx512}) {
    QTest::newRow(toString(isa).data()) << static_cast<int>(isa);
  }
}

void TestMatmul::vectorPieces() {
  QFETCH(const int, isa);
  if (!cpu::supported(static_cast<cpu::Isa>(isa))) QSKIP("this processor lacks the instruction set");
  const cpu::MatmulSimd& simd = cpu::matmulSimd(static_cast<cpu::Isa>(isa));
  for (const std::int64_t rows : {1, 4, 8, 19, 64}) {
    for (const std::int64_t columns : {1, 5, 16, 37, 128}) {
      MatrixBuffer wide(DType::F32, rows, columns, columns + 3), narrow(DType::BF16, rows, columns, columns + 3);
      wide.randomize(1);
      narrow.randomize(2);
      MatrixBuffer straight(DType::F32, rows, columns, columns + 7), turned(DType::F32, columns, rows, rows + 7);
      const auto bits = reinterpret_cast<const std::uint16_t*>(narrow.view().data);
      const auto compare = [&](const MatrixBuffer& from) {
        for (std::int64_t r = 0; r < rows; ++r) {
          for (std::int64_t c = 0; c < columns; ++c) {
            QCOMPARE(straight.get(r, c), from.get(r, c));
            QCOMPARE(turned.get(c, r), from.get(r, c));
          }
        }
        QVERIFY(straight.gapsUntouched() && turned.gapsUntouched());
      };
      simd.copy(wide.view().as<float>(), columns + 3, straight.view().as<float>(), columns + 7, rows, columns);
      simd.transpose(wide.view().as<float>(), columns + 3, turned.view().as<float>(), rows + 7, rows, columns);
      compare(wide);
      simd.widen(bits, columns + 3, straight.view().as<float>(), columns + 7, rows, columns);
      simd.transposeWiden(bits, columns + 3, turned.view().as<float>(), rows + 7, rows, columns);
      compare(narrow);
    }
  }
  // Rounding to bf16 agrees with the scalar rule: ties, overflow, infinities, denormals, NaN.
  std::vector<float> values;
  for (std::uint32_t high = 0; high < 0x10000u; high += 7) {
    for (const std::uint32_t low : {0x0000u, 0x0001u, 0x7FFFu, 0x8000u, 0x8001u, 0xFFFFu}) {
      values.push_back(std::bit_cast<float>((high << 16) | low));
    }
  }
  std::vector<std::uint16_t> rounded(values.size());
  cpu::MatmulEpilogue epilogue;
  epilogue.sum = values.data();
  epilogue.c = rounded.data();
  epilogue.cBf16 = true;
  epilogue.rows = 1;
  epilogue.columns = static_cast<std::int64_t>(values.size());
  simd.epilogue(epilogue);
  for (std::size_t i = 0; i < values.size(); ++i) QCOMPARE(rounded[i], toBFloat16(values[i]).bits);
}

void TestMatmul::notANumberReachesTheResult() {
  ThreadPool pool(2);
  for (const DType dtype : {DType::F32, DType::BF16}) {
    for (const Case& the : allForms({.m = 40, .n = 200, .k = 300, .operands = dtype, .result = dtype})) {
      Operands operands(the);
      const double nan = std::numeric_limits<double>::quiet_NaN();
      the.transposeA ? operands.a.set(7, 3, nan) : operands.a.set(3, 7, nan);
      cpu::matmul(pool, operands.args(the));
      for (std::int64_t i = 0; i < the.m; ++i) {
        for (std::int64_t j = 0; j < the.n; ++j) QCOMPARE(std::isnan(operands.c.get(i, j)), i == 3);
      }
    }
  }
}

QTEST_GUILESS_MAIN(TestMatmul)
#include "test_matmul.moc"
