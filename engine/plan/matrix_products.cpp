#include "plan/matrix_products.h"

#include "plan/head_layout.h"

#include <algorithm>

namespace millrace {

namespace {

class Lister {
 public:
  void add(const MatrixProduct& product) {
    const auto equal = [&](const MatrixProduct& other) {
      return other.m == product.m && other.n == product.n && other.k == product.k &&
             other.transposeA == product.transposeA && other.transposeB == product.transposeB &&
             other.accumulate == product.accumulate && other.wide == product.wide;
    };
    const auto known = std::find_if(m_products.begin(), m_products.end(), equal);
    if (known != m_products.end())
      known->count += product.count;
    else
      m_products.push_back(product);
  }

  /// Linear::forward, backwardInput and backwardWeight (train/linear.cpp), as often as given.
  void projection(std::int64_t tokens, std::int64_t in, std::int64_t out, bool conv1d, std::int64_t forward,
                  std::int64_t backward, bool wide = false) {
    add({tokens, out, in, false, !conv1d, false, wide, forward});
    add({tokens, in, out, false, conv1d, false, false, backward});
    if (conv1d)
      add({in, out, tokens, true, false, true, true, backward});
    else
      add({out, in, tokens, true, false, true, true, backward});
  }

  std::vector<MatrixProduct> take() {
    std::erase_if(m_products, [](const MatrixProduct& product) { return product.count == 0; });
    return std::move(m_products);
  }

 private:
  std::vector<MatrixProduct> m_products;
};

/// How often a layer's products are made: forward, the backward ones, and again where backward computes what forward
/// did.
struct Visits {
  std::int64_t forward = 0, backward = 0, again = 0;
};

void listMlp(Lister& lister, const ModelSpec& spec, std::int64_t tokens, const Visits& visits) {
  const std::int64_t inner = spec.mlp.inner, up = spec.mlp.gated ? 2 * inner : inner;
  const bool conv1d = spec.conv1dWeights;
  lister.projection(tokens, spec.hidden, up, conv1d, visits.forward + visits.again, visits.backward);
  // The output of the MLP is computed again for the gradient of a norm behind it.
  lister.projection(tokens, inner, spec.hidden, conv1d, visits.forward + (spec.postNorms ? visits.again : 0),
                    visits.backward);
}

/// As if tokens spread evenly over the experts, some of which have one row more than others then.
void listExperts(Lister& lister, const ModelSpec& spec, std::int64_t tokens, const Visits& visits) {
  const std::int64_t experts = spec.experts.count, rows = tokens * spec.experts.chosen, fuller = rows % experts;
  const std::int64_t inner = spec.mlp.inner, up = spec.mlp.gated ? 2 * inner : inner;
  lister.projection(tokens, spec.hidden, experts, false, visits.forward + visits.again, visits.backward, true);
  for (const auto& [each, count] : {std::pair{rows / experts, experts - fuller}, {rows / experts + 1, fuller}}) {
    if (each == 0) continue;
    lister.projection(each, spec.hidden, up, false, count * (visits.forward + visits.again), count * visits.backward);
    lister.projection(each, inner, spec.hidden, false, count * visits.forward, count * visits.backward);
  }
}

void listHead(Lister& lister, const ModelSpec& spec, const RunShape& shape) {
  const std::int64_t tokens = shape.tokens();
  const std::int64_t chunk = HeadLayout(spec, shape).chunk;
  const auto chunks = [&](std::int64_t n, std::int64_t count) {
    lister.add({n, spec.vocabulary, spec.hidden, false, true, false, true, count});
    if (!shape.training) return;
    lister.add({spec.vocabulary, spec.hidden, n, true, false, true, true, count});
    lister.add({n, spec.hidden, spec.vocabulary, false, false, false, false, count});
  };
  chunks(chunk, tokens / chunk * shape.microBatches); // there may be as many as tokens
  chunks(tokens % chunk, tokens % chunk > 0 ? shape.microBatches : 0);
}

} // namespace

std::vector<MatrixProduct> stepProducts(const ModelSpec& spec, const RunShape& shape) {
  Lister lister;
  const std::int64_t tokens = shape.tokens();
  const AttentionSpec& attention = spec.attention;
  const std::int64_t qWidth = attention.heads * attention.headDim;
  const std::int64_t kvWidth = attention.kvHeads * attention.headDim;
  Visits visits;
  visits.forward = static_cast<std::int64_t>(spec.layers.size()) * shape.microBatches;
  visits.backward = shape.training ? visits.forward : 0;
  visits.again = shape.recompute != Recompute::None ? visits.backward : 0;
  const std::int64_t attentionAgain = shape.recompute == Recompute::Full ? visits.backward : 0;
  const bool conv1d = spec.conv1dWeights;
  lister.projection(tokens, spec.hidden, qWidth + 2 * kvWidth, conv1d, visits.forward + visits.again, visits.backward);
  lister.projection(tokens, qWidth, spec.hidden, conv1d, visits.forward + attentionAgain, visits.backward);
  if (spec.experts.count > 0)
    listExperts(lister, spec, tokens, visits);
  else
    listMlp(lister, spec, tokens, visits);
  listHead(lister, spec, shape);
  return lister.take();
}

double productFlops(const std::vector<MatrixProduct>& products) {
  double flops = 0;
  for (const MatrixProduct& product : products) flops += product.flops() * static_cast<double>(product.count);
  return flops;
}

} // namespace millrace
