// The list of a step's matrix products against what a trainer really submits, counted by a device that looks on.
#include "train/product_timer.h"
#include "train/small_models.h"
#include "train/training_world.h"

#include "device/cpu/cpu_kernels.h"
#include "device/cpu/cpu_stream.h"

#include <QTest>
#include <algorithm>
#include <map>
#include <tuple>

using namespace millrace;
using namespace millrace::test;

namespace {

using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t, bool, bool, bool, bool>;

/// The CPU's kernels, counting products on the way.
class CountingKernels final : public Kernels {
 public:
  explicit CountingKernels(ThreadPool& pool) : m_kernels(pool) {}

  void matmul(Stream& stream, const MatmulArgs& args) override {
    const std::int64_t k = args.transposeA ? args.a.shape[0] : args.a.shape[1];
    const bool wide = args.c.dtype == DType::F32;
    ++counts[{args.c.shape[0], args.c.shape[1], k, args.transposeA, args.transposeB, args.accumulate, wide}];
    m_kernels.matmul(stream, args);
  }
  void biasGradient(Stream& s, const BiasGradientArgs& a) override { m_kernels.biasGradient(s, a); }
  void rmsNorm(Stream& s, const RmsNormArgs& a) override { m_kernels.rmsNorm(s, a); }
  void rmsNormBackward(Stream& s, const RmsNormBackwardArgs& a) override { m_kernels.rmsNormBackward(s, a); }
  void layerNorm(Stream& s, const LayerNormArgs& a) override { m_kernels.layerNorm(s, a); }
  void layerNormBackward(Stream& s, const LayerNormBackwardArgs& a) override { m_kernels.layerNormBackward(s, a); }
  void rope(Stream& s, const RopeArgs& a) override { m_kernels.rope(s, a); }
  void attention(Stream& s, const AttentionArgs& a) override { m_kernels.attention(s, a); }
  void attentionBackward(Stream& s, const AttentionBackwardArgs& a) override { m_kernels.attentionBackward(s, a); }
  void gatedActivation(Stream& s, const GatedActivationArgs& a) override { m_kernels.gatedActivation(s, a); }
  void gatedActivationBackward(Stream& s, const GatedActivationBackwardArgs& a) override {
    m_kernels.gatedActivationBackward(s, a);
  }
  void activation(Stream& s, const ActivationArgs& a) override { m_kernels.activation(s, a); }
  void activationBackward(Stream& s, const ActivationBackwardArgs& a) override { m_kernels.activationBackward(s, a); }
  void embedding(Stream& s, const EmbeddingArgs& a) override { m_kernels.embedding(s, a); }
  void embeddingBackward(Stream& s, const EmbeddingBackwardArgs& a) override { m_kernels.embeddingBackward(s, a); }
  void addRows(Stream& s, const AddRowsArgs& a) override { m_kernels.addRows(s, a); }
  void crossEntropy(Stream& s, const CrossEntropyArgs& a) override { m_kernels.crossEntropy(s, a); }
  void softcap(Stream& s, const SoftcapArgs& a) override { m_kernels.softcap(s, a); }
  void route(Stream& s, const RouteArgs& a) override { m_kernels.route(s, a); }
  void routeBackward(Stream& s, const RouteBackwardArgs& a) override { m_kernels.routeBackward(s, a); }
  void groupedMatmul(Stream& s, const GroupedMatmulArgs& a) override { m_kernels.groupedMatmul(s, a); }
  void groupedWeightGradient(Stream& s, const GroupedWeightGradientArgs& a) override {
    m_kernels.groupedWeightGradient(s, a);
  }
  void combineRows(Stream& s, const CombineRowsArgs& a) override { m_kernels.combineRows(s, a); }
  void weighRows(Stream& s, const WeighRowsArgs& a) override { m_kernels.weighRows(s, a); }
  void sum(Stream& s, const SumArgs& a) override { m_kernels.sum(s, a); }
  void sumOfSquares(Stream& s, const SumOfSquaresArgs& a) override { m_kernels.sumOfSquares(s, a); }
  void convert(Stream& s, const ConvertArgs& a) override { m_kernels.convert(s, a); }
  void adamW(Stream& s, const AdamWArgs& a) override { m_kernels.adamW(s, a); }

  std::map<Key, std::int64_t> counts;

 private:
  CpuKernels m_kernels;
};

class CountingDevice final : public Device {
 public:
  explicit CountingDevice(ThreadPool& pool) : kernelsOf(pool), m_inner(createCpuDevice(pool, GiB, GiB)) {}
  DeviceKind kind() const override { return DeviceKind::Cpu; }
  std::string name() const override { return "counting"; }
  Result<Buffer> allocate(Bytes bytes, MemorySpace space, const std::string& purpose) override {
    return m_inner->allocate(bytes, space, purpose);
  }
  std::unique_ptr<Stream> createStream(const std::string& name) override {
    return std::make_unique<CpuStream>(*this, name);
  }
  HostSignal createHostSignal() override { return m_inner->createHostSignal(); }
  Kernels& kernels() override { return kernelsOf; }
  MemoryUse memoryUse(MemorySpace space) const override { return m_inner->memoryUse(space); }

  CountingKernels kernelsOf;

 private:
  std::unique_ptr<Device> m_inner;
};

std::map<Key, std::int64_t> listed(const std::vector<MatrixProduct>& products, Precision precision, int times = 1) {
  std::map<Key, std::int64_t> counts;
  for (const MatrixProduct& p : products)
    counts[{p.m, p.n, p.k, p.transposeA, p.transposeB, p.accumulate, p.wide || precision == Precision::Fp32}] +=
        times * p.count;
  return counts;
}

} // namespace

class TestMatrixProducts : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void asSubmitted_data();
  void asSubmitted();
  void operations();
  void timed();
};

void TestMatrixProducts::asSubmitted_data() {
  QTest::addColumn<QString>("family");
  QTest::addColumn<int>("recompute");
  QTest::addColumn<int>("precision");
  for (const char* family : {"llama", "qwen3", "gpt2", "olmo2", "gemma2"})
    for (const Recompute policy : {Recompute::Full, Recompute::Selective, Recompute::None})
      for (const Precision precision : {Precision::Fp32, Precision::Bf16})
        QTest::newRow(fmt::format("{} {} {}", family, toString(policy), toString(precision)).c_str())
            << QString(family) << static_cast<int>(policy) << static_cast<int>(precision);
}

void TestMatrixProducts::asSubmitted() {
  QFETCH(QString, family);
  QFETCH(int, recompute);
  QFETCH(int, precision);
  const ModelSpec spec = smallModel(family.toStdString(), 3);
  RunShape shape;
  shape.rows = 2;
  shape.context = 20;
  shape.microBatches = 3;
  shape.group = 2;
  shape.headChunk = 15;
  shape.recompute = static_cast<Recompute>(recompute);
  shape.precision = static_cast<Precision>(precision);
  ThreadPool pool(2);
  CountingDevice device(pool);
  const MemoryPlan plan = layOutMemory(spec, shape, std::vector<UnitHome>(4, UnitHome::Host));
  const auto trainer = valueOrThrow(Trainer::create(device, pool, spec, plan, {}));
  valueOrThrow(loadWeights(trainer->runner().store(), *trainer->runner().streams().copyIn,
                           [&](const BlockSpec& block, std::int64_t first, std::span<float> values) -> Status {
                             initialBlockValues(spec, block, 7, first, values);
                             return {};
                           }));
  const std::vector<MicroBatch> batches = unevenBatches(spec.vocabulary, 3, 2, 20, 1);
  QVERIFY(trainer->step({batches, {}, 0.01}).has_value());
  trainer->applyPending();
  QVERIFY(device.kernelsOf.counts == listed(stepProducts(spec, shape), shape.precision));
  device.kernelsOf.counts.clear();
  (void)trainer->runner().loss(batches[0]);
  shape.training = false;
  shape.microBatches = shape.group = 1;
  QVERIFY(device.kernelsOf.counts == listed(stepProducts(spec, shape), shape.precision));
}

/// Six operations a parameter of a matrix and token, and two more a layer's where it is recomputed (the last projection
/// is not).
void TestMatrixProducts::operations() {
  const ModelSpec spec = smallModel("llama");
  double layers = 0, down = 0, head = 0;
  for (const BlockSpec& block : blocksOf(spec))
    for (const ParameterSpec& parameter : block.parameters) {
      if (parameter.shape.rank() < 2 || block.kind == BlockKind::Embedding) continue;
      (block.kind == BlockKind::Head ? head : layers) += static_cast<double>(parameter.elements());
      if (parameter.name.find("down_proj") != std::string::npos) down += static_cast<double>(parameter.elements());
    }
  RunShape shape;
  shape.rows = 2;
  shape.context = 16;
  shape.microBatches = 2;
  shape.headChunk = 8;
  const double tokens = 64;
  shape.recompute = Recompute::None;
  QCOMPARE(productFlops(stepProducts(spec, shape)), 6 * tokens * (layers + head));
  shape.recompute = Recompute::Full;
  QCOMPARE(productFlops(stepProducts(spec, shape)), tokens * (8 * layers - 2 * down + 6 * head));
  shape.headChunk = 1;
  shape.context = std::int64_t{1} << 40; // more chunks than anybody could go through one by one
  const double many = 2 * 2 * static_cast<double>(shape.context);
  QVERIFY(qFuzzyCompare(productFlops(stepProducts(spec, shape)), many * (8 * layers - 2 * down + 6 * head)));
}

void TestMatrixProducts::timed() {
  const ModelSpec spec = smallModel("gpt2");
  RunShape shape;
  shape.rows = 2;
  shape.context = 16;
  shape.headChunk = 10;
  ThreadPool pool(2);
  CountingDevice device(pool);
  const std::vector<MatrixProduct> products = stepProducts(spec, shape);
  for (const Precision precision : {Precision::Fp32, Precision::Bf16}) {
    auto timer = ProductTimer::create(device, products, precision);
    QVERIFY(timer.has_value());
    device.kernelsOf.counts.clear();
    QVERIFY(timer->run() > 0);
    QVERIFY(timer->run() > 0);
    QVERIFY(device.kernelsOf.counts == listed(products, precision, 2));
  }
  const auto small = createCpuDevice(pool, 1000, 1000);
  const auto refused = ProductTimer::create(*small, products, Precision::Fp32);
  QVERIFY(!refused.has_value());
  QCOMPARE(refused.error().kind, ErrorKind::DoesNotFit);
}

QTEST_GUILESS_MAIN(TestMatrixProducts)
#include "test_matrix_products.moc"
