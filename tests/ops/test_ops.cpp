// Every op passes good arguments on to the device's kernels, once, and refuses bad ones with a message before anything
// runs. The device here only counts.
#include "base/result.h"
#include "device/device.h"
#include "ops/activation.h"
#include "ops/adamw.h"
#include "ops/attention.h"
#include "ops/bias_gradient.h"
#include "ops/checks.h"
#include "ops/convert.h"
#include "ops/cross_entropy.h"
#include "ops/embedding.h"
#include "ops/expert_rows.h"
#include "ops/gated_activation.h"
#include "ops/grouped_matmul.h"
#include "ops/layer_norm.h"
#include "ops/matmul.h"
#include "ops/reduce.h"
#include "ops/rms_norm.h"
#include "ops/rope.h"
#include "ops/route.h"
#include "ops/softcap.h"

#include <QtTest>

#include <functional>
#include <string>
#include <vector>

using namespace millrace;

namespace {

/// Remembers the name of every kernel called.
class CountingKernels : public Kernels {
 public:
  std::vector<std::string> calls;

  void matmul(Stream&, const MatmulArgs&) override { calls.push_back("matmul"); }
  void biasGradient(Stream&, const BiasGradientArgs&) override { calls.push_back("biasGradient"); }
  void rmsNorm(Stream&, const RmsNormArgs&) override { calls.push_back("rmsNorm"); }
  void rmsNormBackward(Stream&, const RmsNormBackwardArgs&) override { calls.push_back("rmsNormBackward"); }
  void layerNorm(Stream&, const LayerNormArgs&) override { calls.push_back("layerNorm"); }
  void layerNormBackward(Stream&, const LayerNormBackwardArgs&) override { calls.push_back("layerNormBackward"); }
  void rope(Stream&, const RopeArgs&) override { calls.push_back("rope"); }
  void attention(Stream&, const AttentionArgs&) override { calls.push_back("attention"); }
  void attentionBackward(Stream&, const AttentionBackwardArgs&) override { calls.push_back("attentionBackward"); }
  void gatedActivation(Stream&, const GatedActivationArgs&) override { calls.push_back("gatedActivation"); }
  void gatedActivationBackward(Stream&, const GatedActivationBackwardArgs&) override {
    calls.push_back("gatedActivationBackward");
  }
  void activation(Stream&, const ActivationArgs&) override { calls.push_back("activation"); }
  void activationBackward(Stream&, const ActivationBackwardArgs&) override { calls.push_back("activationBackward"); }
  void embedding(Stream&, const EmbeddingArgs&) override { calls.push_back("embedding"); }
  void embeddingBackward(Stream&, const EmbeddingBackwardArgs&) override { calls.push_back("embeddingBackward"); }
  void addRows(Stream&, const AddRowsArgs&) override { calls.push_back("addRows"); }
  void crossEntropy(Stream&, const CrossEntropyArgs&) override { calls.push_back("crossEntropy"); }
  void softcap(Stream&, const SoftcapArgs&) override { calls.push_back("softcap"); }
  void sum(Stream&, const SumArgs&) override { calls.push_back("sum"); }
  void sumOfSquares(Stream&, const SumOfSquaresArgs&) override { calls.push_back("sumOfSquares"); }
  void convert(Stream&, const ConvertArgs&) override { calls.push_back("convert"); }
  void route(Stream&, const RouteArgs&) override { calls.push_back("route"); }
  void routeBackward(Stream&, const RouteBackwardArgs&) override { calls.push_back("routeBackward"); }
  void groupedMatmul(Stream&, const GroupedMatmulArgs&) override { calls.push_back("groupedMatmul"); }
  void groupedWeightGradient(Stream&, const GroupedWeightGradientArgs&) override {
    calls.push_back("groupedWeightGradient");
  }
  void combineRows(Stream&, const CombineRowsArgs&) override { calls.push_back("combineRows"); }
  void weighRows(Stream&, const WeighRowsArgs&) override { calls.push_back("weighRows"); }
  void adamW(Stream&, const AdamWArgs&) override { calls.push_back("adamW"); }
};

class CountingDevice : public Device {
 public:
  CountingKernels counting;

  DeviceKind kind() const override { return DeviceKind::Cpu; }
  std::string name() const override { return "counting"; }
  Result<Buffer> allocate(Bytes, MemorySpace, const std::string&) override { return failed("no memory here"); }
  std::unique_ptr<Stream> createStream(const std::string&) override { return nullptr; }
  HostSignal createHostSignal() override { return {}; }
  Kernels& kernels() override { return counting; }
  MemoryUse memoryUse(MemorySpace) const override { return {}; }
};

class CountingStream : public Stream {
 public:
  explicit CountingStream(Device& device) : m_device(device) {}
  Device& device() override { return m_device; }
  const std::string& name() const override { return m_name; }
  void wait(const Event&, Stall) override {}
  Event record() override { return {}; }
  void copy(void*, const void*, Bytes) override {}
  void zero(void*, Bytes) override {}
  void hostTask(std::function<void()>) override {}
  StreamUse use() const override { return {}; }

 private:
  Device& m_device;
  std::string m_name = "counting";
};

/// Hands out addresses that are never touched, apart from each other.
class Addresses {
 public:
  TensorView operator()(DType dtype, Shape shape) {
    const TensorView view(reinterpret_cast<void*>(m_next), dtype, shape);
    m_next += static_cast<std::uintptr_t>(view.bytes() + 4096);
    return view;
  }
  TensorView f32(Shape shape) { return (*this)(DType::F32, shape); }
  TensorView bf16(Shape shape) { return (*this)(DType::BF16, shape); }
  TensorView i32(Shape shape) { return (*this)(DType::I32, shape); }

 private:
  std::uintptr_t m_next = 1 << 20;
};

/// The arguments of every op, all of them good: each test spoils one thing.
struct Good {
  Addresses at;
  MatmulArgs matmul{at.f32({5, 7}), at.f32({7, 3}), at.f32({5, 3}), false, false, false, at.f32({3}), at.f32({5, 3})};
  BiasGradientArgs biasGradient{at.bf16({5, 3}), at.f32({3})};
  RmsNormArgs rmsNorm{at.f32({5, 8}), at.f32({8}), at.f32({5, 8}), at.f32({5}), 1e-5f};
  RmsNormBackwardArgs rmsNormBackward{at.bf16({5, 2, 8}), at.bf16({5, 2, 8}), at.bf16({8}),      at.f32({5, 2}),
                                      at.bf16({5, 2, 8}), at.f32({8}),        at.bf16({5, 2, 8})};
  LayerNormArgs layerNorm{at.f32({5, 8}), at.f32({8}), at.f32({8}), at.f32({5, 8}), at.f32({5}), at.f32({5}), 1e-5f};
  LayerNormBackwardArgs layerNormBackward{at.f32({5, 8}), at.f32({5, 8}), at.f32({8}), at.f32({5}),   at.f32({5}),
                                          at.f32({5, 8}), at.f32({8}),    at.f32({8}), at.f32({5, 8})};
  RopeArgs rope{at.f32({5, 2, 8}), at.f32({32, 6}), at.i32({5}), false};
  AttentionArgs attention{at.f32({2, 5, 4, 8}),
                          at.f32({2, 9, 2, 8}),
                          at.f32({2, 9, 2, 8}),
                          at.f32({2, 5, 4, 8}),
                          at.f32({2, 4, 5}),
                          at.i32({2, 9}),
                          0.3f,
                          4};
  AttentionBackwardArgs attentionBackward{at.f32({2, 5, 4, 8}),
                                          at.f32({2, 5, 4, 8}),
                                          at.f32({2, 5, 2, 8}),
                                          at.f32({2, 5, 2, 8}),
                                          at.f32({2, 5, 4, 8}),
                                          at.f32({2, 4, 5}),
                                          at.i32({2, 5}),
                                          at.f32({2, 5, 4, 8}),
                                          at.f32({2, 5, 2, 8}),
                                          at.f32({2, 5, 2, 8}),
                                          at.f32({2, 5, 4, 9}),
                                          0.3f,
                                          0};
  GatedActivationArgs gatedActivation{at.f32({5, 12}), at.f32({5, 6}), Activation::Silu};
  GatedActivationBackwardArgs gatedActivationBackward{at.f32({5, 6}), at.f32({5, 12}), at.f32({5, 12}),
                                                      Activation::Silu};
  ActivationArgs activation{at.f32({5, 6}), at.f32({5, 6}), Activation::Gelu};
  ActivationBackwardArgs activationBackward{at.f32({5, 6}), at.f32({5, 6}), at.f32({5, 6}), Activation::Gelu};
  EmbeddingArgs embedding{at.bf16({30, 6}), at.i32({5}), at.bf16({5, 6}), at.bf16({9, 6}), at.i32({5})};
  EmbeddingBackwardArgs embeddingBackward{at.bf16({5, 6}), at.i32({5}), at.i32({31}), at.f32({30, 6})};
  AddRowsArgs addRows{at.f32({5, 6}), at.f32({30, 6}), at.i32({5}), at.i32({30})};
  RouteArgs route{at.f32({5, 6}), at.i32({5, 2}), at.f32({5, 2}), at.i32({5, 2}),
                  at.i32({10}),   at.f32({10}),   at.i32({7})};
  RouteBackwardArgs routeBackward{at.f32({10}),   at.f32({5, 6}), at.i32({5, 2}),
                                  at.f32({5, 2}), at.i32({5, 2}), at.bf16({5, 6})};
  GroupedMatmulArgs groupedMatmul{at.bf16({10, 8}), at.bf16({6, 8, 12}), at.bf16({10, 12}), at.i32({7})};
  GroupedWeightGradientArgs groupedWeightGradient{at.bf16({10, 12}), at.bf16({10, 8}), at.f32({6, 12, 8}), at.i32({7})};
  CombineRowsArgs combineRows{at.f32({10, 8}), at.i32({5, 2}), at.f32({5, 2}), at.f32({5, 8}), at.f32({5, 8})};
  WeighRowsArgs weighRows{at.f32({10, 8}), at.f32({10, 8}), at.f32({10}), at.f32({10})};
  SoftcapArgs softcap{at.f32({5, 30}), 20};
  CrossEntropyArgs crossEntropy{at.f32({5, 30}), at.i32({5}), at.f32({5}), {}, 0.2f};
  SumArgs sum{at.f32({50}), at(DType::F64, {1})};
  SumOfSquaresArgs sumOfSquares{at.f32({50}), at(DType::F64, {1})};
  ConvertArgs convert{at.f32({5, 6}), at.bf16({5, 6})};
  AdamWArgs adamW;

  Good() {
    crossEntropy.dLogits = crossEntropy.logits;
    adamW.hi = at(DType::U16, {50});
    adamW.lo = at(DType::I16, {50});
    adamW.m = at.f32({50});
    adamW.v = at.f32({50});
    adamW.gradient = at.bf16({50});
  }
};

using Submit = std::function<void(Stream&, Good&)>;

/// Columns [begin, begin + count) of the last dimension, as a (tokens, heads, dim) view.
TensorView heads(const TensorView& wide, std::int64_t begin, std::int64_t count, std::int64_t dim) {
  return wide.columns(begin, count).splitLast(count / dim, dim);
}

TensorView withShape(TensorView view, Shape shape) {
  return TensorView(view.data, view.dtype, shape);
}

TensorView withDType(TensorView view, DType dtype) {
  view.dtype = dtype;
  return view;
}

TensorView stepped(TensorView view) {
  view.strides[static_cast<std::size_t>(view.shape.rank() - 1)] = 2;
  return view;
}

} // namespace

Q_DECLARE_METATYPE(Submit)

class TestOps : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void dispatches_data() {
    QTest::addColumn<Submit>("submit");
    QTest::addColumn<QString>("kernel");
    const auto row = [](const char* name, const char* kernel, Submit submit) {
      QTest::newRow(name) << submit << QString(kernel);
    };
#define MILLRACE_GOOD(op) row(#op, #op, [](Stream& s, Good& g) { ops::op(s, g.op); })
    MILLRACE_GOOD(matmul);
    MILLRACE_GOOD(biasGradient);
    MILLRACE_GOOD(rmsNorm);
    MILLRACE_GOOD(rmsNormBackward);
    MILLRACE_GOOD(layerNorm);
    MILLRACE_GOOD(layerNormBackward);
    MILLRACE_GOOD(rope);
    MILLRACE_GOOD(attention);
    MILLRACE_GOOD(attentionBackward);
    MILLRACE_GOOD(gatedActivation);
    MILLRACE_GOOD(gatedActivationBackward);
    MILLRACE_GOOD(activation);
    MILLRACE_GOOD(activationBackward);
    MILLRACE_GOOD(embedding);
    MILLRACE_GOOD(embeddingBackward);
    MILLRACE_GOOD(addRows);
    MILLRACE_GOOD(crossEntropy);
    MILLRACE_GOOD(softcap);
    MILLRACE_GOOD(route);
    MILLRACE_GOOD(routeBackward);
    MILLRACE_GOOD(groupedMatmul);
    MILLRACE_GOOD(groupedWeightGradient);
    MILLRACE_GOOD(combineRows);
    MILLRACE_GOOD(weighRows);
    MILLRACE_GOOD(sum);
    MILLRACE_GOOD(sumOfSquares);
    MILLRACE_GOOD(convert);
    MILLRACE_GOOD(adamW);
#undef MILLRACE_GOOD
    row("matmul transposed", "matmul", [](Stream& s, Good& g) {
      g.matmul.a = withShape(g.matmul.a, {7, 5});
      g.matmul.b = withShape(g.matmul.b, {3, 7});
      g.matmul.transposeA = g.matmul.transposeB = true;
      ops::matmul(s, g.matmul);
    });
    row("matmul accumulating", "matmul", [](Stream& s, Good& g) {
      g.matmul.a = withDType(g.matmul.a, DType::BF16);
      g.matmul.b = withDType(g.matmul.b, DType::BF16);
      g.matmul.bias = g.matmul.residual = {};
      g.matmul.accumulate = true;
      ops::matmul(s, g.matmul);
    });
    row("matmul onto its residual", "matmul", [](Stream& s, Good& g) {
      g.matmul.residual = g.matmul.c;
      ops::matmul(s, g.matmul);
    });
    row("rmsNorm in place", "rmsNorm", [](Stream& s, Good& g) {
      g.rmsNorm.y = g.rmsNorm.x;
      ops::rmsNorm(s, g.rmsNorm);
    });
    row("groupedMatmul, transposed", "groupedMatmul", [](Stream& s, Good& g) {
      g.groupedMatmul.b = g.at.bf16({6, 12, 8});
      g.groupedMatmul.transposeB = true;
      ops::groupedMatmul(s, g.groupedMatmul);
    });
    row("combineRows onto its residual, without weights", "combineRows", [](Stream& s, Good& g) {
      g.combineRows.residual = g.combineRows.y;
      g.combineRows.weights = {};
      ops::combineRows(s, g.combineRows);
    });
    row("rmsNorm onto its residual", "rmsNorm", [](Stream& s, Good& g) {
      g.rmsNorm.residual = g.rmsNorm.y;
      ops::rmsNorm(s, g.rmsNorm);
    });
    row("rmsNormBackward onto dY", "rmsNormBackward", [](Stream& s, Good& g) {
      g.rmsNormBackward.dX = g.rmsNormBackward.dY;
      g.rmsNormBackward.dResidual = {};
      ops::rmsNormBackward(s, g.rmsNormBackward);
    });
    row("rmsNormBackward onto dResidual", "rmsNormBackward", [](Stream& s, Good& g) {
      g.rmsNormBackward.dX = g.rmsNormBackward.dResidual;
      ops::rmsNormBackward(s, g.rmsNormBackward);
    });
    row("rmsNorm of heads between others", "rmsNorm", [](Stream& s, Good& g) {
      const TensorView qkv = g.at.f32({5, 48});
      g.rmsNorm.x = heads(qkv, 16, 16, 8);
      g.rmsNorm.y = heads(qkv, 32, 16, 8); // other columns of the same rows
      g.rmsNorm.rstd = g.at.f32({5, 2});
      ops::rmsNorm(s, g.rmsNorm);
    });
    row("attention of one buffer", "attentionBackward", [](Stream& s, Good& g) {
      AttentionBackwardArgs& a = g.attentionBackward;
      const TensorView qkv = g.at.f32({2, 5, 64}), dQkv = g.at.f32({2, 5, 64});
      a.q = qkv.columns(0, 32).splitLast(4, 8);
      a.k = qkv.columns(32, 16).splitLast(2, 8);
      a.v = qkv.columns(48, 16).splitLast(2, 8);
      a.dQ = dQkv.columns(0, 32).splitLast(4, 8);
      a.dK = dQkv.columns(32, 16).splitLast(2, 8);
      a.dV = dQkv.columns(48, 16).splitLast(2, 8);
      ops::attentionBackward(s, a);
    });
    row("attention without documents", "attention", [](Stream& s, Good& g) {
      g.attention.documentStart = {};
      ops::attention(s, g.attention);
    });
    row("gatedActivationBackward onto gateUp", "gatedActivationBackward", [](Stream& s, Good& g) {
      g.gatedActivationBackward.dGateUp = g.gatedActivationBackward.gateUp;
      ops::gatedActivationBackward(s, g.gatedActivationBackward);
    });
    row("activationBackward onto dY", "activationBackward", [](Stream& s, Good& g) {
      g.activationBackward.dX = g.activationBackward.dY;
      ops::activationBackward(s, g.activationBackward);
    });
    row("crossEntropy, loss only", "crossEntropy", [](Stream& s, Good& g) {
      g.crossEntropy.dLogits = {};
      ops::crossEntropy(s, g.crossEntropy);
    });
    row("crossEntropy, bf16 gradient", "crossEntropy", [](Stream& s, Good& g) {
      g.crossEntropy.dLogits.dtype = DType::BF16;
      g.crossEntropy.dLogits.strides[0] = 60;
      ops::crossEntropy(s, g.crossEntropy);
    });
    row("embedding without positions", "embedding", [](Stream& s, Good& g) {
      g.embedding.positionTable = g.embedding.positionIds = {};
      ops::embedding(s, g.embedding);
    });
    row("adamW with fp32 weights", "adamW", [](Stream& s, Good& g) {
      g.adamW.hi = g.adamW.lo = {};
      g.adamW.weight = g.at.f32({50});
      ops::adamW(s, g.adamW);
    });
  }
  void dispatches() {
    QFETCH(Submit, submit);
    QFETCH(QString, kernel);
    CountingDevice device;
    CountingStream stream(device);
    Good good;
    try {
      submit(stream, good);
    } catch (const EngineException& e) {
      QFAIL(e.what());
    }
    QCOMPARE(device.counting.calls, std::vector<std::string>{kernel.toStdString()});
  }

  void refuses_data() {
    QTest::addColumn<Submit>("submit");
    QTest::addColumn<QString>("says");
    const auto row = [](const char* name, const char* says, Submit submit) {
      QTest::newRow(name) << submit << QString(says);
    };
/// spoil: what is done to the good arguments `a` (and with fresh addresses `at`).
#define MILLRACE_BAD(op, name, says, ...)                                                                              \
  row(#op ": " name, says, [](Stream& s, Good& g) {                                                                    \
    auto& a = g.op;                                                                                                    \
    [[maybe_unused]] Addresses& at = g.at;                                                                             \
    __VA_ARGS__;                                                                                                       \
    ops::op(s, a);                                                                                                     \
  })
    MILLRACE_BAD(matmul, "inner sizes", "matmul: b has shape (6, 3), expected (7, 3)", a.b = at.f32({6, 3}));
    MILLRACE_BAD(matmul, "result", "matmul: c has shape (3, 5), expected (5, 3)", a.c = at.f32({3, 5}));
    MILLRACE_BAD(matmul, "mixed dtypes", "matmul: b is bf16, expected fp32", a.b = at.bf16({7, 3}));
    MILLRACE_BAD(matmul, "rank", "matmul: a has shape (5, 7, 1), expected 2 dimensions", a.a = at.f32({5, 7, 1}));
    MILLRACE_BAD(matmul, "missing", "matmul: b is missing", a.b = {});
    MILLRACE_BAD(matmul, "bias when accumulating", "accumulating", a.accumulate = true);
    MILLRACE_BAD(matmul, "accumulating into bf16", "matmul: c is bf16, expected fp32", a.accumulate = true;
                 a.c = at.bf16({5, 3}));
    MILLRACE_BAD(matmul, "onto an operand", "matmul: c (5, 3) and a (5, 7) share memory", a.c.data = a.a.data);
    MILLRACE_BAD(matmul, "partly onto its residual", "c (5, 3) and residual (5, 3) share memory",
                 a.residual.data = static_cast<float*>(a.c.data) + 3);
    MILLRACE_BAD(matmul, "stepped columns", "a (5, 7) has a step of 2 elements in its last dimension",
                 a.a = stepped(a.a));
    MILLRACE_BAD(biasGradient, "columns", "biasGradient: dBias has shape (4), expected (3)", a.dBias = at.f32({4}));
    MILLRACE_BAD(biasGradient, "bf16 gradient", "dBias is bf16, expected fp32", a.dBias = at.bf16({3}));
    MILLRACE_BAD(rmsNorm, "weight", "rmsNorm: weight has shape (7), expected (8)", a.weight = at.f32({7}));
    MILLRACE_BAD(rmsNorm, "rstd", "rstd has shape (4), expected (5)", a.rstd = at.f32({4}));
    MILLRACE_BAD(rmsNorm, "one row off", "y (5, 8) and x (5, 8) share memory",
                 a.y.data = static_cast<float*>(a.x.data) + 8);
    MILLRACE_BAD(rmsNorm, "residual", "residual has shape (5, 7), expected (5, 8)", a.residual = at.f32({5, 7}));
    MILLRACE_BAD(rmsNorm, "rank", "x has shape (5), expected 2 to 3 dimensions", a.x = at.f32({5}));
    MILLRACE_BAD(rmsNormBackward, "dX over x", "dX (5, 2, 8) and x (5, 2, 8) share memory", a.dX = a.x);
    MILLRACE_BAD(rmsNormBackward, "residual", "dResidual has shape (5, 16)", a.dResidual = at.bf16({5, 16}));
    MILLRACE_BAD(rmsNormBackward, "dWeight dtype", "dWeight is bf16, expected fp32", a.dWeight = at.bf16({8}));
    MILLRACE_BAD(layerNorm, "bias missing", "layerNorm: bias is missing", a.bias = {});
    MILLRACE_BAD(layerNorm, "mean", "mean has shape (8), expected (5)", a.mean = at.f32({8}));
    MILLRACE_BAD(layerNormBackward, "one sum for both", "dWeight (8) and dBias (8) share memory", a.dBias = a.dWeight);
    MILLRACE_BAD(layerNormBackward, "dX over x", "dX (5, 8) and x (5, 8) share memory", a.dX = a.x);
    MILLRACE_BAD(rope, "odd rotation", "rope: cosSin (32, 5) must rotate an even number", a.cosSin = at.f32({32, 5}));
    MILLRACE_BAD(rope, "wider than a head", "at most the 8 of a head", a.cosSin = at.f32({32, 10}));
    MILLRACE_BAD(rope, "positions", "positions has shape (6), expected (5)", a.positions = at.i32({6}));
    MILLRACE_BAD(rope, "position dtype", "positions is fp32, expected int32", a.positions = at.f32({5}));
    MILLRACE_BAD(attention, "head sizes", "k has shape (2, 9, 2, 6), expected (2, 9, 2, 8)",
                 a.k = at.f32({2, 9, 2, 6}));
    MILLRACE_BAD(attention, "grouping", "4 query heads cannot be shared out over 3 key heads",
                 a.k = at.f32({2, 9, 3, 8});
                 a.v = at.f32({2, 9, 3, 8}));
    MILLRACE_BAD(attention, "more queries than keys", "5 queries for only 4 keys", a.k = at.f32({2, 4, 2, 8});
                 a.v = at.f32({2, 4, 2, 8}));
    MILLRACE_BAD(attention, "window", "window is -1", a.window = -1);
    MILLRACE_BAD(attention, "softcap", "softcap is -1", a.softcap = -1);
    MILLRACE_BAD(attention, "softcap without scale", "scale is 0, expected more than 0", a.softcap = 5; a.scale = 0);
    MILLRACE_BAD(attention, "lse", "lse has shape (2, 5, 4), expected (2, 4, 5)", a.lse = at.f32({2, 5, 4}));
    MILLRACE_BAD(attention, "documents", "documentStart has shape (2, 5), expected (2, 9)",
                 a.documentStart = at.i32({2, 5}));
    MILLRACE_BAD(attention, "out over q", "out (2, 5, 4, 8) and q (2, 5, 4, 8) share memory", a.out = a.q);
    MILLRACE_BAD(attentionBackward, "scratch", "scratch has shape (2, 5, 4, 8), expected (2, 5, 4, 9)",
                 a.scratch = at.f32({2, 5, 4, 8}));
    MILLRACE_BAD(attentionBackward, "queries and keys", "5 queries and 9 keys", a.k = at.f32({2, 9, 2, 8});
                 a.v = at.f32({2, 9, 2, 8}); a.documentStart = {});
    MILLRACE_BAD(attentionBackward, "dK is dV", "dV (2, 5, 2, 8) and dK (2, 5, 2, 8) share memory", a.dV = a.dK);
    MILLRACE_BAD(attentionBackward, "dQ over dOut", "dQ (2, 5, 4, 8) and dOut (2, 5, 4, 8) share memory",
                 a.dQ = a.dOut);
    MILLRACE_BAD(gatedActivation, "half the columns", "gateUp has shape (5, 6), expected (5, 12)",
                 a.gateUp = at.f32({5, 6}));
    MILLRACE_BAD(gatedActivation, "y over gateUp", "share memory", a.y.data = a.gateUp.data);
    MILLRACE_BAD(gatedActivationBackward, "dtype", "dGateUp is bf16, expected fp32", a.dGateUp = at.bf16({5, 12}));
    MILLRACE_BAD(gatedActivationBackward, "onto dY", "dGateUp (5, 12) and dY (5, 6) share memory",
                 a.dY.data = a.dGateUp.data);
    MILLRACE_BAD(activation, "shape", "activation: y has shape (6, 5), expected (5, 6)", a.y = at.f32({6, 5}));
    MILLRACE_BAD(activationBackward, "dX over x", "dX (5, 6) and x (5, 6) share memory", a.dX = a.x);
    MILLRACE_BAD(embedding, "width", "table has shape (30, 7), expected (30, 6)", a.table = at.bf16({30, 7}));
    MILLRACE_BAD(embedding, "ids", "ids has shape (6), expected (5)", a.ids = at.i32({6}));
    MILLRACE_BAD(embedding, "half of the pair", "come together or not at all", a.positionIds = {});
    MILLRACE_BAD(embeddingBackward, "starts", "starts has shape (30), expected (31)", a.starts = at.i32({30}));
    MILLRACE_BAD(addRows, "rows", "rows has shape (4), expected (5)", a.rows = at.i32({4}));
    MILLRACE_BAD(addRows, "index", "index has shape (29), expected (30)", a.index = at.i32({29}));
    MILLRACE_BAD(addRows, "an index alone", "an index is of rows", a.rows = {});
    MILLRACE_BAD(addRows, "width", "target has shape (30, 7), expected (30, 6)", a.target = at.f32({30, 7}));
    MILLRACE_BAD(addRows, "too many rows", "source has more rows than target", a.rows = a.index = {};
                 a.source = at.f32({31, 6}));
    MILLRACE_BAD(embeddingBackward, "table dtype", "dTable is bf16, expected fp32", a.dTable = at.bf16({30, 6}));
    MILLRACE_BAD(crossEntropy, "gradient elsewhere", "dLogits must lie in the memory of logits",
                 a.dLogits = at.f32({5, 30}));
    MILLRACE_BAD(crossEntropy, "bf16 rows", "rows of bf16 dLogits are 30 elements apart, expected 60",
                 a.dLogits.dtype = DType::BF16);
    MILLRACE_BAD(crossEntropy, "bf16 logits", "logits is bf16, expected fp32", a.logits.dtype = DType::BF16);
    MILLRACE_BAD(crossEntropy, "softcap", "crossEntropy: softcap is -2", a.softcap = -2);
    MILLRACE_BAD(route, "more than there are", "7 of 6 experts cannot be chosen", a.experts = at.i32({5, 7});
                 a.weights = at.f32({5, 7}); a.rows = at.i32({5, 7}));
    MILLRACE_BAD(route, "too many", "1025 experts, at most 1024", a.logits = at.f32({5, 1025}));
    MILLRACE_BAD(route, "begins", "begins has shape (6), expected (7)", a.begins = at.i32({6}));
    MILLRACE_BAD(route, "bf16 logits", "logits is bf16, expected fp32", a.logits = at.bf16({5, 6}));
    MILLRACE_BAD(routeBackward, "in place", "dLogits (5, 6) and logits (5, 6) share memory", a.dLogits = a.logits);
    MILLRACE_BAD(routeBackward, "gradients", "dRowWeights has shape (9), expected (10)", a.dRowWeights = at.f32({9}));
    MILLRACE_BAD(groupedMatmul, "depth", "a has shape (10, 8), expected (10, 12)", a.transposeB = true);
    MILLRACE_BAD(groupedMatmul, "groups", "begins has shape (6), expected (7)", a.begins = at.i32({6}));
    MILLRACE_BAD(groupedMatmul, "fp32 result", "c is fp32, expected bf16", a.c = at.f32({10, 12}));
    MILLRACE_BAD(groupedWeightGradient, "bf16 gradient", "dW is bf16, expected fp32", a.dW = at.bf16({6, 12, 8}));
    MILLRACE_BAD(groupedWeightGradient, "rows", "x has shape (9, 8), expected (10, 8)", a.x = at.bf16({9, 8}));
    MILLRACE_BAD(combineRows, "rows", "x has shape (9, 8), expected (10, 8)", a.x = at.f32({9, 8}));
    MILLRACE_BAD(combineRows, "onto its rows", "y (5, 8) and x (10, 8) share memory", a.y.data = a.x.data);
    MILLRACE_BAD(weighRows, "one for both", "dY (10, 8) and x (10, 8) share memory", a.dY = a.x);
    MILLRACE_BAD(softcap, "none", "softcap: softcap is 0, expected more than 0", a.softcap = 0);
    MILLRACE_BAD(softcap, "bf16", "x is bf16, expected fp32", a.x = at.bf16({5, 30}));
    MILLRACE_BAD(crossEntropy, "targets", "targets has shape (4), expected (5)", a.targets = at.i32({4}));
    MILLRACE_BAD(sum, "fp32 result", "sum: sum is fp32, expected fp64", a.sum = at.f32({1}));
    MILLRACE_BAD(sumOfSquares, "strided", "x (5, 4) must be contiguous", a.x = at.f32({5, 6}).columns(0, 4));
    MILLRACE_BAD(convert, "integers", "convert: x is int32, expected fp32 or bf16", a.x = at.i32({5, 6}));
    MILLRACE_BAD(convert, "onto itself", "share memory", a.y.data = a.x.data);
    MILLRACE_BAD(adamW, "both forms", "either weight, or hi and lo", a.weight = at.f32({50}));
    MILLRACE_BAD(adamW, "neither form", "either weight, or hi and lo", a.hi = {}; a.lo = {});
    MILLRACE_BAD(adamW, "lo missing", "lo is missing", a.lo = {});
    MILLRACE_BAD(adamW, "sizes", "gradient has shape (49), expected (50)", a.gradient = at.bf16({49}));
    MILLRACE_BAD(adamW, "m is v", "share memory", a.v = a.m);
    MILLRACE_BAD(adamW, "planes swapped", "hi is int16, expected uint16", std::swap(a.hi, a.lo));
#undef MILLRACE_BAD
  }
  void refuses() {
    QFETCH(Submit, submit);
    QFETCH(QString, says);
    CountingDevice device;
    CountingStream stream(device);
    Good good;
    try {
      submit(stream, good);
    } catch (const EngineException& e) {
      QVERIFY2(QString(e.what()).contains(says), e.what());
      QCOMPARE(e.error().kind, ErrorKind::Failed);
      QVERIFY(device.counting.calls.empty());
      return;
    }
    QFAIL("accepted");
  }

  void overlap() {
    Addresses at;
    const TensorView wide = at.f32({6, 30}), other = at.f32({6, 30});
    QVERIFY(!ops::mayOverlap(wide, other));
    QVERIFY(ops::mayOverlap(wide, wide));
    QVERIFY(ops::mayOverlap(wide, wide.rows(5, 1)));
    QVERIFY(!ops::mayOverlap(wide.rows(0, 3), wide.rows(3, 3)));
    QVERIFY(!ops::mayOverlap(wide.columns(0, 10), wide.columns(10, 20)));
    QVERIFY(!ops::mayOverlap(wide.columns(10, 20), wide.columns(0, 10)));
    QVERIFY(ops::mayOverlap(wide.columns(0, 11), wide.columns(10, 20)));
    QVERIFY(!ops::mayOverlap(wide.rows(2, 1).columns(0, 10), wide.columns(10, 20)));
    QVERIFY(ops::mayOverlap(wide.rows(2, 1).columns(0, 11), wide.columns(10, 20)));
    QVERIFY(!ops::mayOverlap(wide, TensorView()));
    // Four dimensions over one buffer, as attention sees it.
    const TensorView qkv = at.bf16({2, 3, 40});
    const TensorView q = qkv.columns(0, 16).splitLast(2, 8), k = qkv.columns(16, 16).splitLast(2, 8);
    QVERIFY(!ops::mayOverlap(q, k));
    QVERIFY(ops::mayOverlap(q, qkv.columns(8, 16).splitLast(2, 8)));
    QVERIFY(ops::sameElements(q, q));
    QVERIFY(!ops::sameElements(q, k));
  }
};

QTEST_GUILESS_MAIN(TestOps)
#include "test_ops.moc"
