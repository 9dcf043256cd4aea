// Matrix products on the GPU against the CPU's, which are tested against float64, and their bits across runs.
#include "device/cuda/gpu.h"

using namespace millrace;
using millrace::test::DeviceCopy;
using millrace::test::Gpu;
using millrace::test::MatrixBuffer;

namespace {

struct Case {
  std::int64_t m, n, k;
  bool transposeA = false, transposeB = false, accumulate = false, tf32 = false;
  DType operands = DType::F32, result = DType::F32;
  bool bias = false, residual = false, residualIsC = false;
  std::int64_t padding = 0; ///< elements between rows
};

struct Operands {
  MatrixBuffer a, b, c, bias, residual;

  explicit Operands(const Case& the) {
    const auto matrix = [&](DType dtype, std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
      MatrixBuffer buffer(dtype, rows, columns, columns + the.padding);
      buffer.randomize(seed);
      return buffer;
    };
    a = the.transposeA ? matrix(the.operands, the.k, the.m, 1) : matrix(the.operands, the.m, the.k, 1);
    b = the.transposeB ? matrix(the.operands, the.n, the.k, 2) : matrix(the.operands, the.k, the.n, 2);
    c = matrix(the.result, the.m, the.n, 3);
    bias = matrix(the.operands, 1, the.n, 4);
    residual = matrix(the.operands, the.m, the.n, 5);
  }
};

void multiply(Kernels& kernels, Stream& stream, const Case& the, const TensorView& a, const TensorView& b,
              const TensorView& c, const TensorView& bias, const TensorView& residual) {
  MatmulArgs args{.a = a, .b = b, .c = c, .bias = {}, .residual = {}};
  args.transposeA = the.transposeA;
  args.transposeB = the.transposeB;
  args.accumulate = the.accumulate;
  args.tf32 = the.tf32;
  if (the.bias) args.bias = TensorView(bias.data, the.operands, {the.n});
  if (the.residual) args.residual = the.residualIsC ? c : residual;
  kernels.matmul(stream, args);
}

} // namespace

Q_DECLARE_METATYPE(Case)

class TestCudaMatmul : public QObject {
  Q_OBJECT

  Gpu m_gpu;

  MatrixBuffer onGpu(const Case& the) {
    Operands operands(the);
    const auto stream = m_gpu.device().createStream("compute");
    DeviceCopy a(m_gpu.device(), *stream, operands.a), b(m_gpu.device(), *stream, operands.b),
        c(m_gpu.device(), *stream, operands.c), bias(m_gpu.device(), *stream, operands.bias),
        residual(m_gpu.device(), *stream, operands.residual);
    multiply(m_gpu.kernels(), *stream, the, a.view(operands.a.view()), b.view(operands.b.view()),
             c.view(operands.c.view()), bias.view(operands.bias.view()), residual.view(operands.residual.view()));
    c.download();
    return std::move(operands.c);
  }

  static void rows() {
    QTest::addColumn<Case>("the");
    const std::int64_t shapes[][3] = {{1, 1, 1},     {3, 17, 129},    {129, 3, 17},     {64, 48, 2048},
                                      {1, 640, 256}, {260, 140, 258}, {512, 768, 1024}, {300, 270, 33}};
    for (const auto& [m, n, k] : shapes)
      for (const DType operands : {DType::F32, DType::BF16})
        for (const int form : {0, 1, 2, 3})
          for (const int kind : {0, 1, 2, 3, 4}) {
            Case the{.m = m, .n = n, .k = k, .transposeA = (form & 1) != 0, .transposeB = (form & 2) != 0};
            the.operands = the.result = operands;
            the.bias = kind == 1 || kind == 3;
            the.residual = kind >= 2 && kind <= 3;
            the.residualIsC = kind == 3;
            if (kind == 4) {
              the.accumulate = true;
              the.result = DType::F32;
              the.padding = 3;
            }
            QTest::addRow("%d%d %dx%dx%d %s kind %d", form & 1, form >> 1, static_cast<int>(m), static_cast<int>(n),
                          static_cast<int>(k), operands == DType::F32 ? "fp32" : "bf16", kind)
                << the;
          }
    for (const bool accumulate : {false, true})
      QTest::newRow(accumulate ? "tf32, accumulated" : "tf32")
          << Case{.m = 256, .n = 384, .k = 512, .transposeB = true, .accumulate = accumulate, .tf32 = true};
    // Logits: fp32 results of bf16 operands.
    QTest::newRow("logits") << Case{.m = 96, .n = 1000, .k = 256, .transposeB = true, .operands = DType::BF16};
  }

 private Q_SLOTS:
  void agreesWithTheCpu_data() { rows(); }
  void agreesWithTheCpu() {
    MILLRACE_NEED_GPU(m_gpu);
    QFETCH(const Case, the);
    Operands expected(the);
    ThreadPool pool(2);
    const auto cpu = createCpuDevice(pool, MiB, MiB);
    const auto stream = cpu->createStream("compute");
    multiply(cpu->kernels(), *stream, the, expected.a.view(), expected.b.view(), expected.c.view(),
             expected.bias.view(), expected.residual.view());
    stream->synchronize();
    const MatrixBuffer actual = onGpu(the);
    QVERIFY(actual.gapsUntouched());
    double difference = 0, size = 0;
    for (std::int64_t r = 0; r < the.m; ++r)
      for (std::int64_t c = 0; c < the.n; ++c) {
        difference += std::pow(actual.get(r, c) - expected.c.get(r, c), 2);
        size += std::pow(expected.c.get(r, c), 2);
      }
    // Factors rounded to 10 bits of fraction are off by up to 2^-11 each.
    const double bound = the.result == DType::BF16 ? 4e-3 : the.tf32 ? 5e-4 : 2e-6;
    QVERIFY2(std::sqrt(difference / size) < bound, qPrintable(QString::number(std::sqrt(difference / size))));
  }

  /// The rows above hold fp32 to more than tf32 could give, and tf32 is what is computed where it is asked for.
  void tf32Rounds() {
    MILLRACE_NEED_GPU(m_gpu);
    Case the{.m = 256, .n = 384, .k = 512, .transposeB = true};
    const std::vector<std::byte> exact = onGpu(the).contents();
    the.tf32 = true;
    const std::vector<std::byte> rounded = onGpu(the).contents();
    QVERIFY(rounded != exact);
    for (int i = 0; i < 5; ++i) QVERIFY(onGpu(the).contents() == rounded);
  }

  void bitsAreTheSameEveryTime() {
    MILLRACE_NEED_GPU(m_gpu);
    for (const DType operands : {DType::F32, DType::BF16}) {
      const Case deep{.m = 64, .n = 72, .k = 65'536, .transposeA = true, .accumulate = true, .operands = operands};
      const std::vector<std::byte> first = onGpu(deep).contents();
      for (int i = 0; i < 5; ++i) QVERIFY(onGpu(deep).contents() == first);
    }
  }
};

QTEST_MAIN(TestCudaMatmul)
#include "test_cuda_matmul.moc"
