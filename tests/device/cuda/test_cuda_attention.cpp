// Attention on the GPU against a float64 reference, on the cases of the CPU and on those that its own tiles suggest.
#include "device/cuda/gpu.h"
#include "device/cuda/ops/attention_tiles.h"
#include "device/kernels.h"
#include "support/attention_cases.h"
#include "support/jacobian.h"

#include <QtTest>
#include <list>

using namespace millrace;
using test::DeviceCopy;
using test::Documents;
using test::MatrixBuffer;
using Case = test::AttentionCase;

namespace {

/// The tensors of a case and their copies on the GPU.
class Tensors {
 public:
  Tensors(Device& device, Stream& stream, const Case& the, double range = 1.0) : m_host(the, range) {
    for (const MatrixBuffer* rows : buffers()) m_copies.emplace_back(device, stream, *rows);
    if (m_host.documentStart.valid()) {
      m_copies.emplace_back(device, stream, m_host.documentStart.data, m_host.documentStart.bytes());
    }
  }

  void forward(Stream& stream) {
    AttentionArgs args = m_host.forwardArgs();
    for (TensorView* view : {&args.q, &args.k, &args.v, &args.out, &args.lse, &args.documentStart}) move(*view);
    stream.device().kernels().attention(stream, args);
  }
  void backward(Stream& stream) {
    AttentionBackwardArgs args = m_host.backwardArgs();
    for (TensorView* view : {&args.dOut, &args.q, &args.k, &args.v, &args.out, &args.lse, &args.documentStart, &args.dQ,
                             &args.dK, &args.dV, &args.scratch}) {
      move(*view);
    }
    stream.device().kernels().attentionBackward(stream, args);
  }
  /// What the GPU holds, in the host's tensors.
  const test::AttentionTensors& download() {
    for (DeviceCopy& copy : m_copies) copy.download();
    return m_host;
  }
  test::AttentionTensors& host() { return m_host; }
  void upload() {
    for (DeviceCopy& copy : m_copies) copy.upload();
  }

  bool gapsUntouched() const {
    for (const MatrixBuffer* rows : buffers()) {
      if (!rows->gapsUntouched()) return false;
    }
    return true;
  }
  std::vector<std::byte> results() const {
    std::vector<std::byte> bytes;
    for (const TensorView& view : {m_host.out, m_host.lse, m_host.dQ, m_host.dK, m_host.dV}) {
      const std::vector<double> values = test::valuesOf(view);
      const auto* const begin = reinterpret_cast<const std::byte*>(values.data());
      bytes.insert(bytes.end(), begin, begin + values.size() * sizeof(double));
    }
    return bytes;
  }

 private:
  std::vector<const MatrixBuffer*> buffers() const {
    std::vector<const MatrixBuffer*> used;
    for (const MatrixBuffer* rows :
         {&m_host.qRows, &m_host.kRows, &m_host.vRows, &m_host.dQRows, &m_host.dKRows, &m_host.dVRows, &m_host.outRows,
          &m_host.dOutRows, &m_host.lseRows, &m_host.scratchRows}) {
      if (rows->rows() > 0) used.push_back(rows);
    }
    return used;
  }
  void move(TensorView& view) const {
    for (const DeviceCopy& copy : m_copies) {
      if (!copy.holds(view)) continue;
      view = copy.view(view);
      return;
    }
  }

  test::AttentionTensors m_host;
  std::list<DeviceCopy> m_copies;
};

/// Cases at the edges of the matrix unit kernels: compiled head sizes and padded ones, tiles cut anywhere.
const std::vector<Case>& tileCases() {
  static const std::vector<Case> table = {
      {"D 72, padded, fused", 1, 200, 200, 2, 1, 72, 0, Documents::One, true},
      {"D 80", 1, 290, 290, 2, 1, 80},
      {"D 88, padded", 1, 130, 130, 2, 2, 88},
      {"D 96, documents, window", 1, 300, 300, 2, 2, 96, 40, Documents::Many},
      {"D 104, padded, documents", 1, 200, 200, 2, 1, 104, 0, Documents::Two},
      {"D 128, documents, window, fused", 1, 300, 300, 4, 1, 128, 100, Documents::Many, true},
      {"D 200, padded", 1, 140, 140, 1, 1, 200},
      {"D 256, documents, window", 1, 200, 200, 2, 1, 256, 60, Documents::Many},
      {"D 320, general", 1, 100, 100, 2, 1, 320},
      {"D 64, many documents, fused", 2, 500, 500, 4, 2, 64, 0, Documents::Many, true},
      {"D 64, window", 1, 500, 500, 2, 2, 64, 129},
      {"1024 tokens, D 128", 1, 1024, 1024, 2, 1, 128},
      test::capped({"softcap, D 64, documents, fused", 2, 300, 300, 4, 2, 64, 0, Documents::Many, true}, 0.3),
      test::capped({"softcap, D 128, window", 1, 300, 300, 2, 1, 128, 100}, 0.2),
      test::capped({"softcap, D 200, padded", 1, 200, 200, 2, 1, 200}, 0.2),
      test::capped({"softcap that is hardly felt, D 256", 1, 300, 300, 2, 1, 256}, 50),
      test::capped({"softcap, D 320, general", 1, 100, 100, 2, 1, 320}, 0.2),
  };
  return table;
}

void addRows(const std::vector<Case>& table) {
  for (Case the : table) {
    for (const DType dtype : {DType::F32, DType::BF16}) {
      the.dtype = dtype;
      QTest::addRow("%s %s", dtype == DType::F32 ? "fp32" : "bf16", the.name) << the;
    }
  }
}

/// Whether the difference, as a whole, is within a part of what is expected. `absolute` is of an element, on average.
QString comparison(const char* what, const std::vector<double>& actual, const std::vector<double>& expected,
                   double relative, double absolute = 1e-6) {
  if (actual.size() != expected.size()) return QString("%1: sizes differ").arg(what);
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    difference += (actual[i] - expected[i]) * (actual[i] - expected[i]);
    size += expected[i] * expected[i];
  }
  const double bound = relative * std::sqrt(size) + absolute * std::sqrt(static_cast<double>(actual.size()));
  if (std::sqrt(difference) <= bound) return {};
  return QString("%1: off by %2, expected within %3").arg(what).arg(std::sqrt(difference)).arg(bound);
}

struct Tolerance {
  double out, gradient;
};
Tolerance toleranceOf(DType dtype) {
  return dtype == DType::BF16 ? Tolerance{1e-2, 2e-2} : Tolerance{1e-5, 2e-5};
}

} // namespace

Q_DECLARE_METATYPE(Case)

class TestCudaAttention : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void initTestCase();
  void sharedMemoryFitsConsumerCards();
  void forwardMatchesFloat64_data();
  void forwardMatchesFloat64();
  void backwardMatchesFloat64_data();
  void backwardMatchesFloat64();
  void everyLength_data();
  void everyLength();
  void oddAddresses();
  void largeScores_data();
  void largeScores();
  void secondRunHasTheSameBits_data();
  void secondRunHasTheSameBits();
  void unseenBlocksAreNotRead_data();
  void unseenBlocksAreNotRead();
  void notANumberReachesTheResult_data();
  void notANumberReachesTheResult();
  void cleanupTestCase();

 private:
  QString problemsOf(const Case& the);

  test::Gpu m_gpu;
  std::unique_ptr<Stream> m_stream;
};

void TestCudaAttention::initTestCase() {
  if (m_gpu) m_stream = m_gpu.device().createStream("compute");
}

void TestCudaAttention::cleanupTestCase() {
  m_stream.reset(); // before its device
}

void TestCudaAttention::sharedMemoryFitsConsumerCards() {
  for (const int size : cuda::matrixHeadSizes) {
    QVERIFY(cuda::forwardTiles(size).sharedBytes() <= 99 * 1024);
    QVERIFY(cuda::keyGradientTiles(size).sharedBytes() <= 99 * 1024);
    QVERIFY(cuda::queryGradientTiles(size).sharedBytes() <= 99 * 1024);
  }
  QVERIFY(cuda::GeneralTiles::sharedBytes(64) <= 99 * 1024);
  QVERIFY(cuda::GeneralTiles::sharedBytes(128) <= 99 * 1024);
}

/// Runs a case forward, and backward where it has as many queries as keys.
QString TestCudaAttention::problemsOf(const Case& the) {
  Tensors tensors(m_gpu.device(), *m_stream, the);
  const bool backward = the.queries == the.keys;
  tensors.forward(*m_stream);
  if (backward) tensors.backward(*m_stream);
  const test::AttentionTensors& host = tensors.download();
  const std::vector<double> q = test::valuesOf(host.q), k = test::valuesOf(host.k), v = test::valuesOf(host.v);
  const std::vector<double> out = test::valuesOf(host.out);
  const Tolerance tolerance = toleranceOf(the.dtype);
  const test::AttentionResult expected = test::attentionForward(host.problem, q, k, v);
  QStringList problems{comparison("out", out, expected.out, tolerance.out),
                       comparison("lse", test::valuesOf(host.lse), expected.lse, 2e-6)};
  if (backward) {
    const test::AttentionGradients gradients =
        test::attentionBackward(host.problem, q, k, v, out, test::valuesOf(host.dOut));
    problems << comparison("dQ", test::valuesOf(host.dQ), gradients.dQ, tolerance.gradient)
             << comparison("dK", test::valuesOf(host.dK), gradients.dK, tolerance.gradient)
             << comparison("dV", test::valuesOf(host.dV), gradients.dV, tolerance.gradient);
  }
  if (!tensors.gapsUntouched()) problems << "memory between rows was written";
  problems.removeAll(QString());
  return problems.join("; ");
}

void TestCudaAttention::forwardMatchesFloat64_data() {
  QTest::addColumn<Case>("the");
  addRows(test::attentionGenerationCases());
  addRows({{"one query of many", 2, 1, 3000, 4, 2, 128},
           {"one query, D 80, documents", 2, 1, 700, 4, 2, 80, 0, Documents::Many},
           {"one query, D 256, window", 1, 1, 700, 2, 1, 256, 300}});
}

void TestCudaAttention::forwardMatchesFloat64() {
  QFETCH(const Case, the);
  MILLRACE_NEED_GPU(m_gpu);
  const QString problems = problemsOf(the);
  QVERIFY2(problems.isEmpty(), qPrintable(problems));
}

void TestCudaAttention::backwardMatchesFloat64_data() {
  QTest::addColumn<Case>("the");
  addRows(test::attentionCases());
  addRows(tileCases());
}

void TestCudaAttention::backwardMatchesFloat64() {
  QFETCH(const Case, the);
  MILLRACE_NEED_GPU(m_gpu);
  const QString problems = problemsOf(the);
  QVERIFY2(problems.isEmpty(), qPrintable(problems));
}

void TestCudaAttention::everyLength_data() {
  QTest::addColumn<Case>("the");
  addRows({{"D 64", 1, 0, 0, 2, 1, 64},
           {"D 128, window", 1, 0, 0, 1, 1, 128, 48},
           {"D 80, documents", 1, 0, 0, 1, 1, 80, 0, Documents::Many}});
}

void TestCudaAttention::everyLength() {
  // Around the multiples of every tile's size, from 1 to 300.
  QFETCH(Case, the);
  MILLRACE_NEED_GPU(m_gpu);
  for (std::int64_t length = 1; length <= 300; ++length) {
    if (length > 20 && (length + 2) % 16 > 4) continue;
    the.queries = the.keys = length;
    const QString problems = problemsOf(the);
    QVERIFY2(problems.isEmpty(), qPrintable(QString("%1 tokens: %2").arg(length).arg(problems)));
  }
}

void TestCudaAttention::oddAddresses() {
  // Rows that do not begin at multiples of 16 bytes take another path, with the same result within rounding.
  MILLRACE_NEED_GPU(m_gpu);
  constexpr std::int64_t tokens = 100, heads = 2, size = 64;
  std::vector<double> results[2];
  for (const int which : {0, 1}) {
    const std::int64_t gap = which; // elements after each row
    MatrixBuffer q(DType::BF16, tokens, heads * size, heads * size + gap), k(DType::BF16, tokens, heads * size);
    MatrixBuffer v(DType::BF16, tokens, heads * size), out(DType::BF16, tokens, heads * size, heads * size + gap);
    MatrixBuffer lse(DType::F32, heads, tokens);
    q.randomize(1);
    k.randomize(2);
    v.randomize(3);
    const auto view = [&](const MatrixBuffer& rows) { return test::headsView(rows, 1, 0, 0, heads, size); };
    DeviceCopy qCopy(m_gpu.device(), *m_stream, q), kCopy(m_gpu.device(), *m_stream, k),
        vCopy(m_gpu.device(), *m_stream, v);
    DeviceCopy outCopy(m_gpu.device(), *m_stream, out), lseCopy(m_gpu.device(), *m_stream, lse);
    m_gpu.device().kernels().attention(
        *m_stream, {.q = qCopy.view(view(q)),
                    .k = kCopy.view(view(k)),
                    .v = vCopy.view(view(v)),
                    .out = outCopy.view(view(out)),
                    .lse = lseCopy.view(TensorView(lse.view().data, DType::F32, {1, heads, tokens})),
                    .documentStart = {},
                    .scale = 0.125f});
    outCopy.download();
    results[which] = test::valuesOf(view(out));
    QVERIFY(out.gapsUntouched());
  }
  const QString problem = comparison("out", results[1], results[0], 1e-2);
  QVERIFY2(problem.isEmpty(), qPrintable(problem));
}

void TestCudaAttention::largeScores_data() {
  QTest::addColumn<Case>("the");
  addRows({{"large", 1, 300, 300, 2, 2, 64}});
}

void TestCudaAttention::largeScores() {
  // Scores in the hundreds: exponentials overflow unless the maximum is taken out, also when it grows between tiles.
  QFETCH(const Case, the);
  MILLRACE_NEED_GPU(m_gpu);
  Tensors tensors(m_gpu.device(), *m_stream, the, 12.0);
  tensors.forward(*m_stream);
  tensors.backward(*m_stream);
  const test::AttentionTensors& host = tensors.download();
  const std::vector<double> q = test::valuesOf(host.q), k = test::valuesOf(host.k), v = test::valuesOf(host.v);
  const std::vector<double> out = test::valuesOf(host.out);
  const test::AttentionResult expected = test::attentionForward(host.problem, q, k, v);
  const test::AttentionGradients gradients =
      test::attentionBackward(host.problem, q, k, v, out, test::valuesOf(host.dOut));
  QVERIFY(test::largestMagnitude(expected.lse) > 100);
  const Tolerance tolerance = the.dtype == DType::BF16 ? Tolerance{1e-2, 2e-2} : Tolerance{1e-4, 2e-4};
  for (const QString& problem : {comparison("out", out, expected.out, tolerance.out),
                                 comparison("lse", test::valuesOf(host.lse), expected.lse, 2e-6),
                                 comparison("dQ", test::valuesOf(host.dQ), gradients.dQ, tolerance.gradient),
                                 comparison("dK", test::valuesOf(host.dK), gradients.dK, tolerance.gradient),
                                 comparison("dV", test::valuesOf(host.dV), gradients.dV, tolerance.gradient)}) {
    QVERIFY2(problem.isEmpty(), qPrintable(problem));
  }
}

void TestCudaAttention::secondRunHasTheSameBits_data() {
  QTest::addColumn<Case>("the");
  addRows({{"grouped, documents, fused", 2, 300, 300, 4, 2, 64, 0, Documents::Many, true},
           {"D 128, window", 1, 300, 300, 4, 1, 128, 90},
           {"D 256", 1, 200, 200, 2, 1, 256},
           {"D 12", 1, 200, 200, 2, 1, 12}});
}

void TestCudaAttention::secondRunHasTheSameBits() {
  QFETCH(const Case, the);
  MILLRACE_NEED_GPU(m_gpu);
  std::vector<std::byte> first;
  for (int run = 0; run < 3; ++run) {
    Tensors tensors(m_gpu.device(), *m_stream, the); // results hold NaN at first
    tensors.forward(*m_stream);
    tensors.backward(*m_stream);
    if (run == 2) { // over the results of the run before
      tensors.forward(*m_stream);
      tensors.backward(*m_stream);
    }
    tensors.download();
    if (run == 0)
      first = tensors.results();
    else
      QVERIFY(tensors.results() == first);
  }
}

void TestCudaAttention::unseenBlocksAreNotRead_data() {
  QTest::addColumn<Case>("the");
  addRows({{"document", 2, 1024, 1024, 2, 1, 64, 0, Documents::Two},
           {"window", 2, 1024, 1024, 2, 1, 64, 100},
           {"document, D 128", 1, 1024, 1024, 2, 1, 128, 0, Documents::Two},
           {"window, D 128", 1, 1024, 1024, 2, 1, 128, 100}});
}

void TestCudaAttention::unseenBlocksAreNotRead() {
  // NaN in the first keys and values would spread through products with zero; it may only reach who can see them.
  QFETCH(const Case, the);
  MILLRACE_NEED_GPU(m_gpu);
  Tensors tensors(m_gpu.device(), *m_stream, the);
  const std::int64_t poisoned = 384, safe = 768;
  test::AttentionTensors& host = tensors.host();
  for (std::int64_t b = 0; b < the.batch; ++b) {
    for (std::int64_t t = 0; t < poisoned; ++t) {
      for (std::int64_t c = 0; c < host.kRows.columns(); ++c) {
        host.kRows.set(b * the.keys + t, c, std::nan(""));
        host.vRows.set(b * the.keys + t, c, std::nan(""));
      }
    }
  }
  tensors.upload();
  tensors.forward(*m_stream);
  tensors.backward(*m_stream);
  tensors.download();
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
  QVERIFY(!std::isfinite(host.outRows.get(0, 0)));
  QVERIFY(finiteFrom(host.outRows));
  QVERIFY(finiteFrom(host.dQRows));
  QVERIFY(finiteFrom(host.dKRows));
  QVERIFY(finiteFrom(host.dVRows));
}

void TestCudaAttention::notANumberReachesTheResult_data() {
  QTest::addColumn<Case>("the");
  addRows({{"nan", 1, 150, 150, 2, 2, 64}});
}

void TestCudaAttention::notANumberReachesTheResult() {
  // A training step must be able to see that something went wrong.
  QFETCH(const Case, the);
  MILLRACE_NEED_GPU(m_gpu);
  Tensors tensors(m_gpu.device(), *m_stream, the);
  test::AttentionTensors& host = tensors.host();
  host.qRows.set(140, 3, std::nan(""));
  tensors.upload();
  tensors.forward(*m_stream);
  tensors.backward(*m_stream);
  tensors.download();
  QVERIFY(std::isnan(host.outRows.get(140, 0)));
  QVERIFY(std::isfinite(host.outRows.get(139, 0)));
  QVERIFY(std::isnan(host.dQRows.get(140, 0)));
  QVERIFY(std::isnan(host.dKRows.get(5, 0)));
}

QTEST_GUILESS_MAIN(TestCudaAttention)
#include "test_cuda_attention.moc"
