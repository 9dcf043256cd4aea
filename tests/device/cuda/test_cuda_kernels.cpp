// Every kernel of the GPU but products and attention against the CPU's, which are tested against float64: the same call
// on the same values; results of fp32 within a few roundings, of bf16 within one; AdamW and conversions in bits;
// nothing written beside the results; the same bits every time.
#include "device/cuda/gpu.h"
#include "support/matmul_tensors.h"

#include <cmath>
#include <functional>
#include <limits>

using namespace millrace;
using millrace::test::Gpu;
using millrace::test::MatrixBuffer;

namespace {

/// Memory that a call reads and writes, in rows that may lie further apart than they need to.
struct Memory {
  DType dtype = DType::F32;
  std::int64_t rows = 1, columns = 1, stride = 1;
  std::vector<std::byte> bytes;

  Memory(DType type, std::int64_t rowCount, std::int64_t columnCount, std::int64_t padding = 0)
      : dtype(type), rows(rowCount), columns(columnCount), stride(columnCount + padding) {
    bytes.assign(static_cast<std::size_t>(rows * stride * bytesPerElement(dtype)), std::byte{0x3c}); // about 0.01
  }
  template <class T>
  T& at(std::int64_t row, std::int64_t column) {
    return reinterpret_cast<T*>(bytes.data())[row * stride + column];
  }
  double get(std::int64_t row, std::int64_t column) const {
    const auto index = static_cast<std::size_t>(row * stride + column);
    switch (dtype) {
    case DType::BF16:
      return static_cast<double>(toFloat(reinterpret_cast<const BFloat16*>(bytes.data())[index]));
    case DType::F64:
      return reinterpret_cast<const double*>(bytes.data())[index];
    default:
      return static_cast<double>(reinterpret_cast<const float*>(bytes.data())[index]);
    }
  }
  Memory& randomize(std::uint64_t seed, double scale = 1, double shift = 0) {
    Random random(seed);
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < columns; ++c) {
        const auto value = static_cast<float>(scale * (2 * random.uniform() - 1) + shift);
        if (dtype == DType::BF16)
          at<BFloat16>(r, c) = toBFloat16(value);
        else
          at<float>(r, c) = value;
      }
    return *this;
  }
  /// int32 values.
  Memory& fill(const std::function<std::int64_t(std::int64_t)>& value) {
    for (std::int64_t c = 0; c < columns; ++c) at<std::int32_t>(0, c) = static_cast<std::int32_t>(value(c));
    return *this;
  }
};

/// Views of all memories in the order in which they were added.
using Views = std::vector<TensorView>;
using Call = std::function<void(Kernels&, Stream&, const Views&)>;

TensorView viewOf(const Memory& memory, void* data) {
  TensorView view(data, memory.dtype, {memory.rows, memory.columns});
  view.strides[0] = memory.stride;
  return view;
}

TensorView vectorOf(const TensorView& view) {
  return TensorView(view.data, view.dtype, {view.shape.elements()});
}

/// (T, W) as (T, heads, D) from a column on.
TensorView headsOf(const TensorView& view, std::int64_t first, std::int64_t heads, std::int64_t size) {
  return view.columns(first, heads * size).splitLast(heads, size);
}

void run(Device& device, std::vector<Memory>& memories, const Call& call) {
  const auto stream = device.createStream("compute");
  std::vector<Buffer> buffers;
  Views views;
  for (Memory& memory : memories) {
    const auto bytes = static_cast<Bytes>(memory.bytes.size());
    buffers.push_back(valueOrThrow(device.allocate(bytes, MemorySpace::Device, "a test")));
    stream->copy(buffers.back().data(), memory.bytes.data(), bytes);
    views.push_back(viewOf(memory, buffers.back().data()));
  }
  call(device.kernels(), *stream, views);
  for (std::size_t i = 0; i < memories.size(); ++i)
    stream->copy(memories[i].bytes.data(), buffers[i].data(), buffers[i].bytes());
  stream->synchronize();
}

/// What a call did on both, and twice on the GPU.
struct Outcome {
  std::vector<Memory> cpu, gpu;
  bool repeats = false;

  /// Largest difference of values, gaps included, in units of what rounding allows: of a value and of the largest.
  double worst(double relative = 0) const {
    double most = 0;
    for (std::size_t i = 0; i < cpu.size(); ++i) {
      const Memory& a = cpu[i];
      const Memory& b = gpu[i];
      if (a.dtype == DType::I32 || a.dtype == DType::U16 || a.dtype == DType::I16) {
        if (a.bytes != b.bytes) return std::numeric_limits<double>::infinity();
        continue;
      }
      double largest = 1e-30;
      for (std::int64_t r = 0; r < a.rows; ++r)
        for (std::int64_t c = 0; c < a.columns; ++c) largest = std::max(largest, std::abs(a.get(r, c)));
      const double each = a.dtype == DType::BF16 ? 1.0 / 128 : relative, all = a.dtype == DType::F64 ? 1e-12 : 4e-6;
      for (std::int64_t r = 0; r < a.rows; ++r)
        for (std::int64_t c = 0; c < a.stride; ++c) {
          const double expected = a.get(r, c), actual = b.get(r, c);
          if (c >= a.columns) {
            if (std::memcmp(&a.bytes[static_cast<std::size_t>((r * a.stride + c) * bytesPerElement(a.dtype))],
                            &b.bytes[static_cast<std::size_t>((r * a.stride + c) * bytesPerElement(a.dtype))],
                            static_cast<std::size_t>(bytesPerElement(a.dtype))) != 0)
              return std::numeric_limits<double>::infinity();
            continue;
          }
          const double difference = std::abs(actual - expected);
          const double share = difference / (each * std::abs(expected) + all * largest);
          if (!(share <= most)) most = share; // NaN too
        }
    }
    return most;
  }
  bool equalInBits() const {
    for (std::size_t i = 0; i < cpu.size(); ++i)
      if (cpu[i].bytes != gpu[i].bytes) return false;
    return true;
  }
};

struct Size {
  std::int64_t tokens, width, padding;
};
const Size sizes[] = {{1, 1, 0},    {3, 7, 0},     {5, 64, 8},     {33, 129, 3},
                      {70, 256, 0}, {40, 3000, 8}, {2000, 512, 0}, {3, 20'000, 8}};

} // namespace

Q_DECLARE_METATYPE(Size)

class TestCudaKernels : public QObject {
  Q_OBJECT

  Gpu m_gpu;

  Outcome compare(const std::vector<Memory>& memories, const Call& call) {
    Outcome outcome{memories, memories};
    ThreadPool pool(2);
    const auto cpu = createCpuDevice(pool, GiB, GiB);
    run(*cpu, outcome.cpu, call);
    run(m_gpu.device(), outcome.gpu, call);
    std::vector<Memory> again = memories;
    run(m_gpu.device(), again, call);
    outcome.repeats = true;
    for (std::size_t i = 0; i < again.size(); ++i) outcome.repeats &= again[i].bytes == outcome.gpu[i].bytes;
    return outcome;
  }

  static void sizeRows() {
    QTest::addColumn<DType>("dtype");
    QTest::addColumn<Size>("size");
    for (const DType dtype : {DType::F32, DType::BF16})
      for (const Size& size : sizes)
        QTest::addRow("%s %dx%d+%d", dtype == DType::F32 ? "fp32" : "bf16", static_cast<int>(size.tokens),
                      static_cast<int>(size.width), static_cast<int>(size.padding))
            << dtype << size;
  }

#define MILLRACE_AGREES(outcome)                                                                                       \
  do {                                                                                                                 \
    const Outcome& result = (outcome);                                                                                 \
    QVERIFY2(result.worst() <= 1, qPrintable(QString::number(result.worst())));                                        \
    QVERIFY(result.repeats);                                                                                           \
  } while (false)

 private Q_SLOTS:
  void norms_data() {
    sizeRows();
  }
  void norms() {
    MILLRACE_NEED_GPU(m_gpu);
    QFETCH(const DType, dtype);
    QFETCH(const Size, size);
    const auto [t, h, pad] = size;
    const Memory x = Memory(dtype, t, h, pad).randomize(1, 2, 0.5), weight = Memory(dtype, 1, h).randomize(2),
                 bias = Memory(dtype, 1, h).randomize(3), y(dtype, t, h, pad), sums(DType::F32, 1, t);
    MILLRACE_AGREES(compare({x, weight, y, sums}, [](Kernels& k, Stream& s, const Views& v) {
      k.rmsNorm(s, {v[0], vectorOf(v[1]), v[2], vectorOf(v[3]), 1e-5f});
    }));
    MILLRACE_AGREES(compare({x, weight, sums}, [](Kernels& k, Stream& s, const Views& v) { // in place
      k.rmsNorm(s, {v[0], vectorOf(v[1]), v[0], vectorOf(v[2]), 1e-5f});
    }));
    MILLRACE_AGREES(compare({x, weight, bias, y, sums, sums}, [](Kernels& k, Stream& s, const Views& v) {
      k.layerNorm(s, {v[0], vectorOf(v[1]), vectorOf(v[2]), v[3], vectorOf(v[4]), vectorOf(v[5]), 1e-5f});
    }));
    const Memory dY = Memory(dtype, t, h, pad).randomize(4), residual = Memory(dtype, t, h, pad).randomize(5),
                 rstd = Memory(DType::F32, 1, t).randomize(6, 0.2, 1),
                 mean = Memory(DType::F32, 1, t).randomize(7, 0.2), gradient = Memory(DType::F32, 1, h).randomize(8);
    for (const int where : {0, 1, 2}) // dX apart, in place of dY, in place of dResidual
      for (const bool adds : {false, true}) {
        if (where == 2 && !adds) continue;
        MILLRACE_AGREES(
            compare({dY, x, weight, rstd, y, gradient, residual}, [=](Kernels& k, Stream& s, const Views& v) {
              k.rmsNormBackward(s, {v[0], v[1], vectorOf(v[2]), vectorOf(v[3]),
                                    v[where == 0   ? 4
                                      : where == 1 ? 0
                                                   : 6],
                                    vectorOf(v[5]), adds ? v[6] : TensorView()});
            }));
        MILLRACE_AGREES(compare({dY, x, weight, rstd, y, gradient, residual, mean, gradient},
                                [=](Kernels& k, Stream& s, const Views& v) {
                                  k.layerNormBackward(s, {v[0], v[1], vectorOf(v[2]), vectorOf(v[7]), vectorOf(v[3]),
                                                          v[where == 0   ? 4
                                                            : where == 1 ? 0
                                                                         : 6],
                                                          vectorOf(v[5]), vectorOf(v[8]), adds ? v[6] : TensorView()});
                                }));
      }
    // Weights with an offset, and the residual that a norm's output is added to.
    MILLRACE_AGREES(compare({x, weight, y, rstd, residual}, [](Kernels& k, Stream& s, const Views& v) {
      k.rmsNorm(s, {v[0], vectorOf(v[1]), v[2], vectorOf(v[3]), 1e-5f, 1, v[4]});
    }));
    MILLRACE_AGREES(compare({x, weight, residual, rstd}, [](Kernels& k, Stream& s, const Views& v) {
      k.rmsNorm(s, {v[0], vectorOf(v[1]), v[2], vectorOf(v[3]), 1e-5f, 1, v[2]});
    }));
    MILLRACE_AGREES(compare({dY, x, weight, rstd, y, gradient}, [](Kernels& k, Stream& s, const Views& v) {
      k.rmsNormBackward(s, {v[0], v[1], vectorOf(v[2]), vectorOf(v[3]), v[4], vectorOf(v[5]), {}, 1});
    }));
    MILLRACE_AGREES(compare({dY, gradient}, [](Kernels& k, Stream& s, const Views& v) {
      k.biasGradient(s, {v[0], vectorOf(v[1])});
    }));
  }

  void headNorms_data() {
    QTest::addColumn<DType>("dtype");
    QTest::addColumn<int>("headSize");
    for (const int size : {8, 64, 80, 128, 256, 9}) {
      QTest::addRow("fp32 %d", size) << DType::F32 << size;
      QTest::addRow("bf16 %d", size) << DType::BF16 << size;
    }
  }
  /// Heads side by side in the rows of a projection: norms and rotations.
  void headNorms() {
    MILLRACE_NEED_GPU(m_gpu);
    QFETCH(const DType, dtype);
    QFETCH(const int, headSize);
    const std::int64_t t = 37, heads = 3, d = headSize, w = 5 * d;
    const Memory qkv = Memory(dtype, t, w).randomize(1), weight = Memory(dtype, 1, d).randomize(2), out(dtype, t, w),
                 rstd = Memory(DType::F32, t, heads).randomize(3, 0.2, 1),
                 gradient = Memory(DType::F32, 1, d).randomize(4);
    MILLRACE_AGREES(compare({qkv, weight, out, rstd}, [=](Kernels& k, Stream& s, const Views& v) {
      k.rmsNorm(s, {headsOf(v[0], d, heads, d), vectorOf(v[1]), headsOf(v[2], d, heads, d), v[3], 1e-6f});
    }));
    MILLRACE_AGREES(compare({out, qkv, weight, rstd, gradient}, [=](Kernels& k, Stream& s, const Views& v) {
      const TensorView dY = headsOf(v[0], d, heads, d);
      k.rmsNormBackward(s, {dY, headsOf(v[1], d, heads, d), vectorOf(v[2]), v[3], dY, vectorOf(v[4]), {}});
    }));
    const std::int64_t rotated = d / 4 * 2;
    if (rotated == 0) return;
    const Memory table = Memory(DType::F32, 50, rotated).randomize(5),
                 positions = Memory(DType::I32, 1, t).fill([](std::int64_t i) { return i * 7 % 50; });
    for (const bool inverse : {false, true})
      MILLRACE_AGREES(compare({qkv, table, positions}, [=](Kernels& k, Stream& s, const Views& v) {
        k.rope(s, {headsOf(v[0], d, heads, d), v[1], vectorOf(v[2]), inverse});
      }));
  }

  void activations_data() {
    sizeRows();
  }
  void activations() {
    MILLRACE_NEED_GPU(m_gpu);
    QFETCH(const DType, dtype);
    QFETCH(const Size, size);
    const auto [t, h, pad] = size;
    const Memory x = Memory(dtype, t, h, pad).randomize(1, 6), dY = Memory(dtype, t, h, pad).randomize(2),
                 both = Memory(dtype, t, 2 * h, pad).randomize(3, 6), y(dtype, t, h, pad);
    for (const Activation act :
         {Activation::Silu, Activation::Gelu, Activation::GeluTanh, Activation::Relu, Activation::ReluSquared}) {
      MILLRACE_AGREES(compare({x, y}, [=](Kernels& k, Stream& s, const Views& v) {
        k.activation(s, {v[0], v[1], act});
      }));
      MILLRACE_AGREES(compare({dY, x}, [=](Kernels& k, Stream& s, const Views& v) {
        k.activationBackward(s, {v[0], v[1], v[0], act});
      }));
      MILLRACE_AGREES(compare({both, y}, [=](Kernels& k, Stream& s, const Views& v) {
        k.gatedActivation(s, {v[0], v[1], act});
      }));
      MILLRACE_AGREES(compare({dY, both}, [=](Kernels& k, Stream& s, const Views& v) {
        k.gatedActivationBackward(s, {v[0], v[1], v[1], act});
      }));
    }
  }

  void farOutActivationsAreFinite() {
    MILLRACE_NEED_GPU(m_gpu);
    Memory x(DType::F32, 1, 8), dY(DType::F32, 1, 8);
    const float values[] = {-1e30f, -1e4f, -100.f, -0.f, 0.f, 100.f, 1e4f, 1e30f};
    for (int i = 0; i < 8; ++i) {
      x.at<float>(0, i) = values[i];
      dY.at<float>(0, i) = 1;
    }
    for (const Activation act : {Activation::Silu, Activation::Gelu, Activation::GeluTanh, Activation::Relu}) {
      const Outcome outcome = compare({dY, x}, [=](Kernels& k, Stream& s, const Views& v) {
        k.activationBackward(s, {v[0], v[1], v[0], act});
      });
      QVERIFY2(outcome.worst() <= 1, qPrintable(QString::number(static_cast<int>(act))));
    }
  }

  void embeddings_data() {
    sizeRows();
  }
  void embeddings() {
    MILLRACE_NEED_GPU(m_gpu);
    QFETCH(const DType, dtype);
    QFETCH(const Size, size);
    const auto [t, h, pad] = size;
    const std::int64_t rows = t / 2 + 1;
    const Memory table = Memory(dtype, rows, h, pad).randomize(1), positionTable = Memory(dtype, t, h).randomize(2),
                 ids = Memory(DType::I32, 1, t).fill([=](std::int64_t i) { return i * i % rows; }),
                 positions = Memory(DType::I32, 1, t).fill([=, n = t](std::int64_t i) { return n - 1 - i; }),
                 x(dtype, t, h, pad);
    for (const bool with : {false, true})
      MILLRACE_AGREES(compare({table, ids, x, positionTable, positions}, [=](Kernels& k, Stream& s, const Views& v) {
        k.embedding(s, {v[0], vectorOf(v[1]), v[2], with ? v[3] : TensorView(), with ? vectorOf(v[4]) : TensorView(),
                        with ? 7.75f : 1.0f});
      }));
    std::vector<std::int32_t> order, starts{0};
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t i = 0; i < t; ++i)
        if (i * i % rows == row) order.push_back(static_cast<std::int32_t>(i));
      starts.push_back(static_cast<std::int32_t>(order.size()));
    }
    const Memory dX = Memory(dtype, t, h, pad).randomize(3), sums(DType::F32, rows, h),
                 orders =
                     Memory(DType::I32, 1, t).fill([&](std::int64_t i) { return order[static_cast<std::size_t>(i)]; }),
                 begins = Memory(DType::I32, 1, rows + 1).fill([&](std::int64_t i) {
                   return starts[static_cast<std::size_t>(i)];
                 });
    MILLRACE_AGREES(compare({dX, orders, begins, sums}, [](Kernels& k, Stream& s, const Views& v) {
      k.embeddingBackward(s, {v[0], vectorOf(v[1]), vectorOf(v[2]), v[3], 3.25f});
    }));
    // Added to rows that come first, that are named, and that an index of even numbers knows.
    const Memory source = Memory(DType::F32, rows, h, pad).randomize(4),
                 target = Memory(DType::F32, 2 * rows, h, pad).randomize(5),
                 named = Memory(DType::I32, 1, rows).fill([=](std::int64_t i) { return 2 * (rows - 1 - i); }),
                 index = Memory(DType::I32, 1, 2 * rows).fill([](std::int64_t i) { return 2 * i; });
    for (const int way : {0, 1, 2}) {
      const Outcome added = compare({source, target, named, index}, [=](Kernels& k, Stream& s, const Views& v) {
        AddRowsArgs args;
        args.source = v[0];
        args.target = v[1];
        if (way > 0) args.rows = vectorOf(v[2]);
        if (way == 2) args.index = vectorOf(v[3]);
        k.addRows(s, args);
      });
      QVERIFY(added.equalInBits());
    }
  }

  void crossEntropy_data() {
    QTest::addColumn<int>("vocabulary");
    for (const int size : {1, 2, 3, 63, 64, 1000, 2048, 2052, 4100, 50'257, 151'936}) QTest::addRow("%d", size) << size;
  }
  void crossEntropy() {
    MILLRACE_NEED_GPU(m_gpu);
    QFETCH(const int, vocabulary);
    const std::int64_t rows = vocabulary > 10'000 ? 6 : 40, v64 = vocabulary;
    const Memory logits = Memory(DType::F32, rows, v64).randomize(1, 12),
                 targets = Memory(DType::I32, 1, rows).fill([=](std::int64_t i) {
                   return i % 5 == 3 ? -1 : i == 0 ? v64 - 1 : i * 997 % v64;
                 }),
                 loss(DType::F32, 1, rows);
    MILLRACE_AGREES(compare({logits, targets, loss}, [](Kernels& k, Stream& s, const Views& v) {
      k.crossEntropy(s, {.logits = v[0], .targets = vectorOf(v[1]), .loss = vectorOf(v[2]), .dLogits = {}, .scale = 1});
    }));
    MILLRACE_AGREES(compare({logits, targets, loss}, [](Kernels& k, Stream& s, const Views& v) {
      k.crossEntropy(
          s, {.logits = v[0], .targets = vectorOf(v[1]), .loss = vectorOf(v[2]), .dLogits = v[0], .scale = 0.37f});
    }));
    // Kept within a bound, and the gradients of what they were before.
    MILLRACE_AGREES(compare({logits, targets, loss}, [](Kernels& k, Stream& s, const Views& v) {
      k.softcap(s, {v[0], 5});
    }));
    MILLRACE_AGREES(compare({logits, targets, loss}, [](Kernels& k, Stream& s, const Views& v) {
      k.softcap(s, {v[0], 5});
      k.crossEntropy(s, {.logits = v[0],
                         .targets = vectorOf(v[1]),
                         .loss = vectorOf(v[2]),
                         .dLogits = v[0],
                         .scale = 0.37f,
                         .softcap = 5});
    }));
    // bf16 gradients at the front of each row; what is behind them is nobody's.
    std::vector<Memory> cpu{logits, targets, loss}, gpu = cpu;
    const Call narrow = [](Kernels& k, Stream& s, const Views& v) {
      TensorView dLogits = v[0];
      dLogits.dtype = DType::BF16;
      dLogits.strides[0] = 2 * v[0].shape[1];
      k.crossEntropy(
          s, {.logits = v[0], .targets = vectorOf(v[1]), .loss = vectorOf(v[2]), .dLogits = dLogits, .scale = 0.37f});
    };
    ThreadPool pool(2);
    const auto device = createCpuDevice(pool, GiB, GiB);
    run(*device, cpu, narrow);
    run(m_gpu.device(), gpu, narrow);
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < v64; ++c) {
        const auto value = [&](std::vector<Memory>& all) {
          return static_cast<double>(toFloat((&all[0].at<BFloat16>(0, 0))[r * 2 * v64 + c]));
        };
        const double a = value(cpu), b = value(gpu);
        QVERIFY2(std::abs(a - b) <= std::abs(a) / 128 + 1e-7, qPrintable(QString("%1 %2").arg(a).arg(b)));
      }
  }

  void logitsThatAreNoNumbersReachTheLoss() {
    MILLRACE_NEED_GPU(m_gpu);
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
      Memory logits = Memory(DType::F32, 1, 100).randomize(1);
      logits.at<float>(0, 57) = bad;
      std::vector<Memory> all{logits, Memory(DType::I32, 1, 1).fill([](std::int64_t) { return 3; }),
                              Memory(DType::F32, 1, 1)};
      run(m_gpu.device(), all, [](Kernels& k, Stream& s, const Views& v) {
        k.crossEntropy(
            s, {.logits = v[0], .targets = vectorOf(v[1]), .loss = vectorOf(v[2]), .dLogits = v[0], .scale = 1});
      });
      QVERIFY(!std::isfinite(all[2].get(0, 0)));
    }
  }

  void routes_data() {
    QTest::addColumn<int>("tokens");
    QTest::addColumn<int>("experts");
    QTest::addColumn<int>("choices");
    const struct {
      int tokens, experts, choices;
    } sizes[] = {{1, 1, 1}, {1, 128, 8}, {7, 4, 4}, {300, 9, 3}, {2000, 128, 8}, {5, 1024, 40}};
    for (const auto& s : sizes)
      QTest::addRow("%d tokens, %d of %d", s.tokens, s.choices, s.experts) << s.tokens << s.experts << s.choices;
  }
  /// Some logits of a token are equal.
  void routes() {
    MILLRACE_NEED_GPU(m_gpu);
    QFETCH(const int, tokens);
    QFETCH(const int, experts);
    QFETCH(const int, choices);
    Memory logits = Memory(DType::F32, tokens, experts).randomize(1, 3);
    for (int t = 0; t < tokens; t += 3)
      for (int e = 1; e < experts; e += 2) logits.at<float>(t, e) = logits.at<float>(t, e - 1);
    const std::int64_t all = std::int64_t{1} * tokens * choices;
    const Memory chosen(DType::I32, tokens, choices), weights(DType::F32, tokens, choices),
        rowTokens(DType::I32, 1, all), rowWeights(DType::F32, 1, all), begins(DType::I32, 1, experts + 1),
        dRowWeights = Memory(DType::F32, 1, all).randomize(2);
    for (const bool normalize : {false, true})
      for (const DType dtype : {DType::F32, DType::BF16})
        MILLRACE_AGREES(
            compare({logits, chosen, weights, chosen, rowTokens, rowWeights, begins, dRowWeights,
                     Memory(dtype, tokens, experts)},
                    [=](Kernels& k, Stream& s, const Views& v) {
                      k.route(s, {v[0], v[1], v[2], v[3], vectorOf(v[4]), vectorOf(v[5]), vectorOf(v[6]), normalize});
                      k.routeBackward(s, {vectorOf(v[7]), v[0], v[1], v[2], v[3], v[8], normalize});
                    }));
  }

  void groups_data() {
    QTest::addColumn<DType>("dtype");
    QTest::addColumn<int>("n");
    QTest::addColumn<int>("k");
    for (const DType dtype : {DType::F32, DType::BF16})
      for (const auto& [n, k] : {std::pair{64, 64}, {8, 8}, {136, 200}, {320, 72}, {7, 9}, {30, 64}})
        QTest::addRow("%s %d x %d", dtype == DType::F32 ? "fp32" : "bf16", n, k) << dtype << n << k;
  }
  /// Groups of many rows, of one, and of none.
  void groups() {
    MILLRACE_NEED_GPU(m_gpu);
    QFETCH(const DType, dtype);
    QFETCH(const int, n);
    QFETCH(const int, k);
    const std::vector<std::int64_t> begin{0, 0, 300, 301, 301, 365, 493, 500, 500};
    const std::int64_t groups = std::ssize(begin) - 1, rows = begin.back();
    const Memory x = Memory(dtype, rows, k).randomize(1), w = Memory(dtype, groups * n, k).randomize(2),
                 dY = Memory(dtype, rows, n, 8).randomize(3), y(dtype, rows, n, 8), dX(dtype, rows, k),
                 dW = Memory(DType::F32, groups * n, k).randomize(4),
                 begins = Memory(DType::I32, 1, groups + 1).fill([&](std::int64_t i) {
                   return begin[static_cast<std::size_t>(i)];
                 });
    const Shape matrices{groups, n, k};
    MILLRACE_AGREES(compare({x, w, dY, y, dX, dW, begins}, [=](Kernels& kernels, Stream& s, const Views& v) {
      const TensorView first = vectorOf(v[6]), weights = v[1].reshaped(matrices);
      kernels.groupedMatmul(s, {.a = v[0], .b = weights, .c = v[3], .begins = first, .transposeB = true});
      kernels.groupedMatmul(s, {.a = v[2], .b = weights, .c = v[4], .begins = first});
      kernels.groupedWeightGradient(s, {.dY = v[2], .x = v[0], .dW = v[5].reshaped(matrices), .begins = first});
    }));
  }

  void expertRows_data() {
    sizeRows();
  }
  void expertRows() {
    MILLRACE_NEED_GPU(m_gpu);
    QFETCH(const DType, dtype);
    QFETCH(const Size, size);
    const auto [t, h, pad] = size;
    const std::int64_t choices = 3, all = t * choices;
    Memory rows(DType::I32, t, choices);
    for (std::int64_t c = 0; c < all; ++c)
      rows.at<std::int32_t>(c / choices, c % choices) = static_cast<std::int32_t>(all - 1 - c);
    const Memory x = Memory(dtype, all, h, pad).randomize(1), weights = Memory(DType::F32, t, choices).randomize(2),
                 residual = Memory(dtype, t, h, pad).randomize(3), y(dtype, t, h, pad),
                 dY = Memory(dtype, all, h, pad).randomize(4), dWeights(DType::F32, 1, all);
    for (const bool weighs : {false, true})
      MILLRACE_AGREES(compare({x, rows, weights, residual, y}, [=](Kernels& k, Stream& s, const Views& v) {
        k.combineRows(s, {.x = v[0],
                          .rows = v[1],
                          .weights = weighs ? v[2] : TensorView(),
                          .residual = weighs ? v[3] : TensorView(),
                          .y = v[4]});
      }));
    MILLRACE_AGREES(compare({dY, x, weights, dWeights}, [](Kernels& k, Stream& s, const Views& v) {
      k.weighRows(s, {v[0], v[1], vectorOf(v[2]), vectorOf(v[3])});
    }));
  }

  void sums_data() {
    QTest::addColumn<qint64>("count");
    for (const qint64 count : {1, 3, 4, 255, 8191, 8192, 16'384, 16'385, 100'003, 9'000'001})
      QTest::addRow("%lld", count) << count;
  }
  void sums() {
    MILLRACE_NEED_GPU(m_gpu);
    QFETCH(const qint64, count);
    const Memory x = Memory(DType::F32, 1, count + 1).randomize(1, 1, 0.3);
    Memory total(DType::F64, 1, 1);
    total.at<double>(0, 0) = 0.25;
    for (const std::int64_t first : {0, 1}) { // aligned, and not
      MILLRACE_AGREES(compare({x, total}, [=](Kernels& k, Stream& s, const Views& v) {
        k.sum(s, {vectorOf(v[0].columns(first, count)), vectorOf(v[1])});
      }));
      const Outcome squares = compare({x, total}, [=](Kernels& k, Stream& s, const Views& v) {
        k.sumOfSquares(s, {vectorOf(v[0].columns(first, count)), vectorOf(v[1])});
      });
      QVERIFY(squares.equalInBits());
    }
  }

  void conversions_data() {
    sizeRows();
  }
  void conversions() {
    MILLRACE_NEED_GPU(m_gpu);
    QFETCH(const DType, dtype);
    QFETCH(const Size, size);
    const auto [t, h, pad] = size;
    for (const DType to : {DType::F32, DType::BF16}) {
      const Outcome outcome = compare({Memory(dtype, t, h, pad).randomize(1), Memory(to, t, h, 2 * pad)},
                                      [](Kernels& k, Stream& s, const Views& v) {
                                        k.convert(s, {v[0], v[1]});
                                      });
      QVERIFY(outcome.equalInBits());
    }
  }

  void adamW_data() {
    QTest::addColumn<bool>("split");
    QTest::addColumn<DType>("gradient");
    QTest::addColumn<bool>("decay");
    QTest::addColumn<int>("first");
    for (const bool split : {false, true})
      for (const DType gradient : {DType::F32, DType::BF16})
        for (const bool decay : {false, true})
          for (const int first : {0, 3})
            QTest::addRow("%s, %s gradients, %s, from %d", split ? "split" : "fp32",
                          gradient == DType::F32 ? "fp32" : "bf16", decay ? "decays" : "does not decay", first)
                << split << gradient << decay << first;
  }
  /// Values of every magnitude, denormals among them.
  void adamW() {
    MILLRACE_NEED_GPU(m_gpu);
    QFETCH(const bool, split);
    QFETCH(const DType, gradient);
    QFETCH(const bool, decay);
    QFETCH(const int, first);
    const std::int64_t count = 1'000'007;
    Random random(9);
    const auto any = [&](int least, int most) {
      const double exponent = least + (most - least) * random.uniform();
      return static_cast<float>((random.uniform() < 0.5 ? -1 : 1) * std::exp2(exponent));
    };
    Memory w(DType::F32, 1, count), hi(DType::U16, 1, count), lo(DType::I16, 1, count), m(DType::F32, 1, count),
        v(DType::F32, 1, count), g(gradient, 1, count);
    for (std::int64_t i = 0; i < count; ++i) {
      const float weight = any(-140, 20);
      w.at<float>(0, i) = weight;
      hi.at<std::uint16_t>(0, i) = splitWeight(weight).hi;
      lo.at<std::int16_t>(0, i) = splitWeight(weight).lo;
      m.at<float>(0, i) = i % 7 == 0 ? 0 : any(-148, 10);
      v.at<float>(0, i) = i % 5 == 0 ? 0 : std::abs(any(-148, 20));
      const float value = i % 11 == 0 ? 0 : any(-149, 12);
      if (gradient == DType::F32)
        g.at<float>(0, i) = value;
      else
        g.at<BFloat16>(0, i) = toBFloat16(value);
    }
    const AdamWScalars scalars{0.9f, 0.1f, 0.95f, 0.05f, 1e-8f, 3.7e-4f, 1.9f, 0.99997f, 0.731f};
    const Outcome outcome = compare({w, hi, lo, m, v, g}, [=](Kernels& k, Stream& s, const Views& views) {
      const auto part = [&](std::size_t i) { return vectorOf(views[i].columns(first, count - first)); };
      AdamWArgs args{
          .weight = {}, .hi = {}, .lo = {}, .m = part(3), .v = part(4), .gradient = part(5), .scalars = scalars};
      args.decay = decay;
      if (split) {
        args.hi = part(1);
        args.lo = part(2);
      } else {
        args.weight = part(0);
      }
      k.adamW(s, args);
    });
    QVERIFY(outcome.equalInBits());
    QVERIFY(outcome.cpu[3].bytes != m.bytes);
  }
};

QTEST_MAIN(TestCudaKernels)
#include "test_cuda_kernels.moc"
