// What the tests of CPU kernels share: tensors with padding that must survive, float64 comparisons, central
// differences, and the instruction sets and thread counts to go through.
#pragma once

#include "base/random.h"
#include "base/thread_pool.h"
#include "device/cpu/ops/isa.h"
#include "tensor/tensor.h"

#include <QtTest>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace millrace::test {

inline constexpr int threadCounts[] = {1, 2, 3, 5};

inline const char* nameOf(cpu::Isa isa) {
  return isa == cpu::Isa::Avx512 ? "avx512" : isa == cpu::Isa::Avx2 ? "avx2" : "baseline";
}

/// Skips the row when this processor cannot run it.
#define MILLRACE_NEED_ISA(isa)                                                                                         \
  if (!::millrace::cpu::supported(isa))                                                                                \
  QSKIP(qPrintable(QString("this processor has no %1").arg(::millrace::test::nameOf(isa))))

/// A tensor in memory of its own. Rows of the outermost dimension lie `pad` elements further apart than they need to,
/// rows of the dimension before the last `innerPad`; everything between holds a mark.
class HostTensor {
 public:
  HostTensor() = default;
  HostTensor(DType dtype, Shape shape, std::int64_t pad = 0, std::int64_t innerPad = 0) {
    m_view = TensorView(nullptr, dtype, shape);
    const int rank = shape.rank();
    std::int64_t stride = 1;
    for (int i = rank - 1; i >= 0; --i) {
      if (i == rank - 2 && rank >= 3) stride += innerPad;
      if (i == 0 && rank >= 2) stride += pad;
      m_view.strides[static_cast<std::size_t>(i)] = stride;
      stride *= shape[i];
    }
    m_elements = stride + 1; // one more, to see writes past the end
    m_memory.assign(static_cast<std::size_t>(m_elements * bytesPerElement(dtype)), mark);
    m_view.data = m_memory.data();
    for (std::int64_t i = 0; i < count(); ++i) set(i, 0);
  }
  HostTensor(const HostTensor& other) { *this = other; }
  HostTensor& operator=(const HostTensor& other) {
    m_view = other.m_view;
    m_memory = other.m_memory;
    m_elements = other.m_elements;
    m_view.data = m_memory.data();
    return *this;
  }

  const TensorView& view() const { return m_view; }
  std::int64_t count() const { return m_view.shape.elements(); }
  const std::vector<unsigned char>& bytes() const { return m_memory; }

  void set(std::int64_t index, double value) {
    unsigned char* p = at(index);
    switch (m_view.dtype) {
    case DType::F32: {
      const auto v = static_cast<float>(value);
      std::memcpy(p, &v, sizeof v);
      break;
    }
    case DType::BF16: {
      const BFloat16 v = toBFloat16(static_cast<float>(value));
      std::memcpy(p, &v, sizeof v);
      break;
    }
    case DType::I32: {
      const auto v = static_cast<std::int32_t>(value);
      std::memcpy(p, &v, sizeof v);
      break;
    }
    default:
      std::memcpy(p, &value, sizeof value);
    }
  }

  double get(std::int64_t index) const {
    const unsigned char* p = const_cast<HostTensor*>(this)->at(index);
    switch (m_view.dtype) {
    case DType::F32: {
      float v = 0;
      std::memcpy(&v, p, sizeof v);
      return static_cast<double>(v);
    }
    case DType::BF16: {
      BFloat16 v;
      std::memcpy(&v, p, sizeof v);
      return static_cast<double>(toFloat(v));
    }
    case DType::I32: {
      std::int32_t v = 0;
      std::memcpy(&v, p, sizeof v);
      return v;
    }
    default: {
      double v = 0;
      std::memcpy(&v, p, sizeof v);
      return v;
    }
    }
  }

  std::vector<double> values() const {
    std::vector<double> result;
    for (std::int64_t i = 0; i < count(); ++i) result.push_back(get(i));
    return result;
  }

  HostTensor& fillNormal(Random& random, double scale = 1, double mean = 0) {
    for (std::int64_t i = 0; i < count(); ++i) set(i, mean + scale * random.normal());
    return *this;
  }

  /// Nothing between the rows or behind the end has been written.
  bool paddingIntact() const {
    std::vector<bool> used(m_memory.size());
    const Bytes size = bytesPerElement(m_view.dtype);
    for (std::int64_t i = 0; i < count(); ++i) {
      const auto begin = const_cast<HostTensor*>(this)->at(i) - m_memory.data();
      for (Bytes b = 0; b < size; ++b) used[static_cast<std::size_t>(begin + b)] = true;
    }
    for (std::size_t i = 0; i < used.size(); ++i)
      if (!used[i] && m_memory[i] != mark) return false;
    return true;
  }

 private:
  static constexpr unsigned char mark = 0xA5;

  unsigned char* at(std::int64_t index) {
    std::int64_t offset = 0;
    for (int i = m_view.shape.rank() - 1; i >= 0; --i) {
      offset += index % m_view.shape[i] * m_view.strides[static_cast<std::size_t>(i)];
      index /= m_view.shape[i];
    }
    return m_memory.data() + offset * bytesPerElement(m_view.dtype);
  }

  TensorView m_view;
  std::vector<unsigned char> m_memory;
  std::int64_t m_elements = 0;
};

inline double largest(const std::vector<double>& values) {
  double result = 0;
  for (const double v : values) result = std::max(result, std::abs(v));
  return result;
}

/// Empty when every element is within tolerance * (largest reference value) of the reference, plus half a unit in the
/// last place for bf16 results; else what is wrong. leastScale: the size of the terms, where they may cancel.
inline QString difference(const HostTensor& actual, const std::vector<double>& reference, double tolerance,
                          double leastScale = 1e-30) {
  const double scale = std::max(largest(reference), leastScale);
  const double rounding = actual.view().dtype == DType::BF16 ? 0.00391 : 0.0;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    const double value = actual.get(static_cast<std::int64_t>(i));
    const double error = std::abs(value - reference[i]);
    const double bound = tolerance * scale + rounding * std::abs(reference[i]);
    if (!(error <= bound))
      return QString("element %1 is %2, expected %3; error %4, bound %5")
          .arg(i)
          .arg(value, 0, 'g', 9)
          .arg(reference[i], 0, 'g', 9)
          .arg(error)
          .arg(bound);
  }
  return {};
}

#define MILLRACE_COMPARE(actual, reference, ...)                                                                       \
  do {                                                                                                                 \
    const QString problem = ::millrace::test::difference(actual, reference, __VA_ARGS__);                              \
    QVERIFY2(problem.isEmpty(), qPrintable(QString(#actual ": ") + problem));                                          \
  } while (false)

using Loss = std::function<double(const std::vector<double>&)>;

/// Empty when the gradient agrees with central differences of the loss at a point, element by element, to 1e-6 of the
/// largest; else what is wrong.
inline QString jacobianDifference(const Loss& loss, std::vector<double> point, const std::vector<double>& gradient) {
  const double scale = std::max(largest(gradient), 1e-12);
  for (std::size_t i = 0; i < point.size(); ++i) {
    const double at = point[i], step = 1e-5 * std::max(1.0, std::abs(at));
    point[i] = at + step;
    const double above = loss(point);
    point[i] = at - step;
    const double below = loss(point);
    point[i] = at;
    const double numeric = (above - below) / (2 * step);
    if (!(std::abs(numeric - gradient[i]) <= 1e-6 * scale))
      return QString("derivative %1 is %2, central difference %3").arg(i).arg(gradient[i]).arg(numeric);
  }
  return {};
}

#define MILLRACE_JACOBIAN(loss, point, gradient)                                                                       \
  do {                                                                                                                 \
    const QString problem = ::millrace::test::jacobianDifference(loss, point, gradient);                               \
    QVERIFY2(problem.isEmpty(), qPrintable(QString(#gradient ": ") + problem));                                        \
  } while (false)

/// Sum of a[i] * b[i].
inline double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

/// Whether run(pool) leaves the same bytes for every number of threads. run returns the tensors that it wrote.
template <class Run>
bool equalForAllThreadCounts(Run&& run) {
  std::vector<HostTensor> first;
  for (const int threads : threadCounts) {
    ThreadPool pool(threads);
    std::vector<HostTensor> results = run(pool);
    if (first.empty()) {
      first = std::move(results);
      continue;
    }
    for (std::size_t i = 0; i < first.size(); ++i)
      if (first[i].bytes() != results[i].bytes()) return false;
  }
  return true;
}

} // namespace millrace::test
