// Causal attention in float64, the plain way: every score computed, every sum in order. Tensors are vectors in
// (B, T, heads, D) order.
#pragma once

#include "tensor/tensor.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace millrace::test {

struct AttentionProblem {
  std::int64_t batch = 1, queries = 1, keys = 1, heads = 1, kvHeads = 1, headSize = 8;
  double scale = 1;
  std::int64_t window = 0;
  std::vector<std::int32_t> documentStart; // (B, Tk) or empty
  double softcap = 0;                      // 0: none

  bool sees(std::int64_t b, std::int64_t query, std::int64_t key) const {
    const std::int64_t position = keys - queries + query;
    if (key > position || (window > 0 && key <= position - window)) return false;
    return documentStart.empty() || key >= documentStart[static_cast<std::size_t>(b * keys + position)];
  }
  std::size_t q(std::int64_t b, std::int64_t t, std::int64_t h) const {
    return static_cast<std::size_t>(((b * queries + t) * heads + h) * headSize);
  }
  std::size_t kv(std::int64_t b, std::int64_t t, std::int64_t h) const {
    return static_cast<std::size_t>(((b * keys + t) * kvHeads + h / (heads / kvHeads)) * headSize);
  }
  std::size_t lse(std::int64_t b, std::int64_t h, std::int64_t t) const {
    return static_cast<std::size_t>((b * heads + h) * queries + t);
  }
};

struct AttentionResult {
  std::vector<double> out, lse;
};

struct AttentionGradients {
  std::vector<double> dQ, dK, dV;
};

inline double dotOf(const double* a, const double* b, std::int64_t size) {
  double sum = 0;
  for (std::int64_t d = 0; d < size; ++d) sum += a[d] * b[d];
  return sum;
}

/// The score of a query and a key, and how it changes with their product.
struct AttentionScore {
  double value, slope;
};
inline AttentionScore scoreOf(const AttentionProblem& the, const double* q, const double* k) {
  const double scaled = the.scale * dotOf(q, k, the.headSize);
  if (the.softcap == 0) return {scaled, the.scale};
  const double tanh = std::tanh(scaled / the.softcap);
  return {the.softcap * tanh, the.scale * (1 - tanh * tanh)};
}

/// Calls visit(b, h, t, probabilities over keys, lse) for every query.
template <class Visit>
void forEachQuery(const AttentionProblem& the, const std::vector<double>& q, const std::vector<double>& k,
                  Visit&& visit) {
  std::vector<double> probability(static_cast<std::size_t>(the.keys));
  for (std::int64_t b = 0; b < the.batch; ++b) {
    for (std::int64_t h = 0; h < the.heads; ++h) {
      for (std::int64_t t = 0; t < the.queries; ++t) {
        double largest = -std::numeric_limits<double>::infinity();
        for (std::int64_t j = 0; j < the.keys; ++j) {
          double& score = probability[static_cast<std::size_t>(j)];
          score = -std::numeric_limits<double>::infinity();
          if (!the.sees(b, t, j)) continue;
          score = scoreOf(the, &q[the.q(b, t, h)], &k[the.kv(b, j, h)]).value;
          largest = std::max(largest, score);
        }
        double sum = 0;
        for (double& p : probability) {
          p = std::exp(p - largest);
          sum += p;
        }
        for (double& p : probability) p /= sum;
        visit(b, h, t, probability, largest + std::log(sum));
      }
    }
  }
}

inline AttentionResult attentionForward(const AttentionProblem& the, const std::vector<double>& q,
                                        const std::vector<double>& k, const std::vector<double>& v) {
  AttentionResult result{std::vector<double>(q.size()),
                         std::vector<double>(static_cast<std::size_t>(the.batch * the.heads * the.queries))};
  forEachQuery(the, q, k, [&](auto b, auto h, auto t, const std::vector<double>& probability, double lse) {
    result.lse[the.lse(b, h, t)] = lse;
    for (std::int64_t j = 0; j < the.keys; ++j) {
      const double p = probability[static_cast<std::size_t>(j)];
      if (p == 0) continue;
      for (std::size_t d = 0; d < static_cast<std::size_t>(the.headSize); ++d) {
        result.out[the.q(b, t, h) + d] += p * v[the.kv(b, j, h) + d];
      }
    }
  });
  return result;
}

/// out: what forward gave, perhaps rounded: the row sums of dOut * out are taken from it, as kernels do.
inline AttentionGradients attentionBackward(const AttentionProblem& the, const std::vector<double>& q,
                                            const std::vector<double>& k, const std::vector<double>& v,
                                            const std::vector<double>& out, const std::vector<double>& dOut) {
  AttentionGradients result{std::vector<double>(q.size()), std::vector<double>(k.size()),
                            std::vector<double>(v.size())};
  forEachQuery(the, q, k, [&](auto b, auto h, auto t, const std::vector<double>& probability, double) {
    const std::size_t row = the.q(b, t, h);
    const double delta = dotOf(&dOut[row], &out[row], the.headSize);
    for (std::int64_t j = 0; j < the.keys; ++j) {
      const double p = probability[static_cast<std::size_t>(j)];
      if (p == 0) continue;
      const std::size_t key = the.kv(b, j, h);
      const double slope = scoreOf(the, &q[row], &k[key]).slope;
      const double dScore = slope * p * (dotOf(&dOut[row], &v[key], the.headSize) - delta);
      for (std::size_t d = 0; d < static_cast<std::size_t>(the.headSize); ++d) {
        result.dV[key + d] += p * dOut[row + d];
        result.dK[key + d] += dScore * q[row + d];
        result.dQ[row + d] += dScore * k[key + d];
      }
    }
  });
  return result;
}

/// Every element of a view of up to four dimensions, in row-major order.
inline std::vector<double> valuesOf(const TensorView& view) {
  std::vector<double> values;
  std::array<std::int64_t, 4> sizes{1, 1, 1, 1}, strides{};
  for (int i = 0; i < view.shape.rank(); ++i) {
    const auto to = static_cast<std::size_t>(4 - view.shape.rank() + i);
    sizes[to] = view.shape[i];
    strides[to] = view.strides[static_cast<std::size_t>(i)];
  }
  for (std::int64_t a = 0; a < sizes[0]; ++a) {
    for (std::int64_t b = 0; b < sizes[1]; ++b) {
      for (std::int64_t c = 0; c < sizes[2]; ++c) {
        for (std::int64_t d = 0; d < sizes[3]; ++d) {
          const std::int64_t i = a * strides[0] + b * strides[1] + c * strides[2] + d * strides[3];
          values.push_back(view.dtype == DType::BF16 ? static_cast<double>(toFloat(view.as<BFloat16>()[i]))
                                                     : static_cast<double>(view.as<float>()[i]));
        }
      }
    }
  }
  return values;
}

} // namespace millrace::test
