// What a mixture of experts is made of: routing, products of groups of rows, and bringing rows together, against
// float64.
#include "device/cpu/ops/expert_rows.h"
#include "device/cpu/ops/grouped_matmul.h"
#include "device/cpu/ops/route.h"
#include "kernel_test.h"

#include <numeric>

using namespace millrace;
using namespace millrace::test;

namespace {

using Values = std::vector<double>;

/// What one token's logits say, in float64.
struct Choice {
  std::vector<std::size_t> experts; ///< best first
  Values weights;
};

Choice choose(const Values& logits, std::size_t choices, bool normalize) {
  Choice choice;
  choice.experts.resize(logits.size());
  std::iota(choice.experts.begin(), choice.experts.end(), std::size_t{0});
  std::stable_sort(choice.experts.begin(), choice.experts.end(),
                   [&](std::size_t a, std::size_t b) { return logits[a] > logits[b]; });
  choice.experts.resize(choices);
  double all = 0, chosen = 0;
  for (const double logit : logits) all += std::exp(logit);
  for (const std::size_t e : choice.experts) chosen += std::exp(logits[e]);
  for (const std::size_t e : choice.experts) choice.weights.push_back(std::exp(logits[e]) / (normalize ? chosen : all));
  return choice;
}

Values rowOf(const HostTensor& tensor, std::int64_t row) {
  const std::int64_t width = tensor.view().shape[-1];
  Values values;
  for (std::int64_t i = 0; i < width; ++i) values.push_back(tensor.get(row * width + i));
  return values;
}

/// The results of route() for some logits.
struct Routed {
  HostTensor experts, weights, rows, tokens, rowWeights, begins;

  Routed(const HostTensor& logits, std::int64_t choices) {
    const std::int64_t count = logits.view().shape[0];
    experts = HostTensor(DType::I32, {count, choices});
    weights = HostTensor(DType::F32, {count, choices});
    rows = HostTensor(DType::I32, {count, choices});
    tokens = HostTensor(DType::I32, {count * choices});
    rowWeights = HostTensor(DType::F32, {count * choices});
    begins = HostTensor(DType::I32, {logits.view().shape[1] + 1});
  }
  RouteArgs args(const HostTensor& logits, bool normalize) const {
    return {.logits = logits.view(),
            .experts = experts.view(),
            .weights = weights.view(),
            .rows = rows.view(),
            .tokens = tokens.view(),
            .rowWeights = rowWeights.view(),
            .begins = begins.view(),
            .normalize = normalize};
  }
  std::vector<HostTensor> all() const { return {experts, weights, rows, tokens, rowWeights, begins}; }
};

} // namespace

class TestExperts : public QObject {
  Q_OBJECT

  static void addRoutes() {
    QTest::addColumn<std::int64_t>("tokens");
    QTest::addColumn<std::int64_t>("experts");
    QTest::addColumn<std::int64_t>("choices");
    QTest::addColumn<bool>("normalize");
    const struct {
      std::int64_t tokens, experts, choices;
    } sizes[] = {{1, 1, 1}, {1, 8, 2}, {7, 4, 4}, {50, 4, 2}, {300, 128, 8}, {5, 1000, 3}};
    for (const auto& s : sizes)
      for (const bool normalize : {false, true})
        QTest::addRow("%d tokens, %d of %d experts%s", static_cast<int>(s.tokens), static_cast<int>(s.choices),
                      static_cast<int>(s.experts), normalize ? ", normalized" : "")
            << s.tokens << s.experts << s.choices << normalize;
  }

  /// Some logits of a token are equal.
  static HostTensor logitsOf(std::int64_t tokens, std::int64_t experts) {
    Random random(3, static_cast<std::uint64_t>(experts));
    HostTensor logits = HostTensor(DType::F32, {tokens, experts}).fillNormal(random, 2);
    for (std::int64_t t = 0; t < tokens; t += 3)
      for (std::int64_t e = 1; e < experts; e += 2) logits.set(t * experts + e, logits.get(t * experts + e - 1));
    return logits;
  }

  static void addGroups() {
    QTest::addColumn<bool>("bf16");
    for (const bool bf16 : {false, true}) QTest::newRow(bf16 ? "bf16" : "fp32") << bf16;
  }

 private Q_SLOTS:
  void routes_data() { addRoutes(); }
  void routes() {
    QFETCH(std::int64_t, tokens);
    QFETCH(std::int64_t, experts);
    QFETCH(std::int64_t, choices);
    QFETCH(bool, normalize);
    const HostTensor logits = logitsOf(tokens, experts);
    Routed routed(logits, choices);
    ThreadPool pool(2);
    cpu::route(pool, routed.args(logits, normalize));
    Values weights;
    std::vector<std::vector<std::int64_t>> ofExpert(static_cast<std::size_t>(experts)); // choices, in order
    for (std::int64_t t = 0; t < tokens; ++t) {
      const Choice choice = choose(rowOf(logits, t), static_cast<std::size_t>(choices), normalize);
      for (std::size_t j = 0; j < choice.experts.size(); ++j) {
        const std::int64_t c = t * choices + static_cast<std::int64_t>(j);
        QCOMPARE(routed.experts.get(c), static_cast<double>(choice.experts[j]));
        ofExpert[choice.experts[j]].push_back(c);
      }
      weights.insert(weights.end(), choice.weights.begin(), choice.weights.end());
    }
    MILLRACE_COMPARE(routed.weights, weights, 1e-6);
    std::int64_t row = 0;
    for (std::int64_t e = 0; e < experts; ++e) {
      QCOMPARE(routed.begins.get(e), static_cast<double>(row));
      for (const std::int64_t c : ofExpert[static_cast<std::size_t>(e)]) {
        QCOMPARE(routed.rows.get(c), static_cast<double>(row));
        QCOMPARE(routed.tokens.get(row), static_cast<double>(c / choices));
        QCOMPARE(routed.rowWeights.get(row), routed.weights.get(c));
        ++row;
      }
    }
    QCOMPARE(routed.begins.get(experts), static_cast<double>(tokens * choices));
    QVERIFY(equalForAllThreadCounts([&](ThreadPool& threads) {
      cpu::route(threads, routed.args(logits, normalize));
      return routed.all();
    }));
  }

  void routesBack_data() { addRoutes(); }
  void routesBack() {
    QFETCH(std::int64_t, tokens);
    QFETCH(std::int64_t, experts);
    QFETCH(std::int64_t, choices);
    QFETCH(bool, normalize);
    const HostTensor logits = logitsOf(tokens, experts);
    Routed routed(logits, choices);
    ThreadPool pool(2);
    cpu::route(pool, routed.args(logits, normalize));
    Random random(8);
    const HostTensor dRowWeights = HostTensor(DType::F32, {tokens * choices}).fillNormal(random);
    Values expected;
    for (std::int64_t t = 0; t < tokens; ++t) {
      const Values of = rowOf(logits, t);
      const Choice choice = choose(of, static_cast<std::size_t>(choices), normalize);
      Values upstream;
      for (std::int64_t j = 0; j < choices; ++j)
        upstream.push_back(dRowWeights.get(static_cast<std::int64_t>(routed.rows.get(t * choices + j))));
      // The weight of a chosen expert is a softmax over all, or over the chosen.
      Values gradient(of.size());
      double all = 0;
      for (const double logit : of) all += std::exp(logit);
      const double sum = dot(upstream, choice.weights);
      for (std::size_t e = 0; e < of.size(); ++e) gradient[e] = normalize ? 0 : -sum * std::exp(of[e]) / all;
      for (std::size_t j = 0; j < choice.experts.size(); ++j)
        gradient[choice.experts[j]] = choice.weights[j] * (upstream[j] - sum);
      if (t == 1 && experts < 20) { // a token without equal logits
        const auto loss = [&](const Values& p) {
          return dot(upstream, choose(p, static_cast<std::size_t>(choices), normalize).weights);
        };
        MILLRACE_JACOBIAN(loss, of, gradient);
      }
      expected.insert(expected.end(), gradient.begin(), gradient.end());
    }
    for (const DType dtype : {DType::F32, DType::BF16}) {
      HostTensor dLogits(dtype, {tokens, experts});
      cpu::routeBackward(pool, {.dRowWeights = dRowWeights.view(),
                                .logits = logits.view(),
                                .experts = routed.experts.view(),
                                .weights = routed.weights.view(),
                                .rows = routed.rows.view(),
                                .dLogits = dLogits.view(),
                                .normalize = normalize});
      MILLRACE_COMPARE(dLogits, expected, 2e-6, 1);
      QVERIFY(dLogits.paddingIntact());
    }
  }

  void groups_data() { addGroups(); }
  /// Groups of many rows, of one, and of none.
  void groups() {
    QFETCH(bool, bf16);
    const DType dtype = bf16 ? DType::BF16 : DType::F32;
    const std::int64_t begin[] = {0, 0, 70, 71, 71, 90, 90}, groups = 6, rows = 90, n = 40, k = 24;
    Random random(4);
    HostTensor begins(DType::I32, {groups + 1});
    for (std::int64_t g = 0; g <= groups; ++g) begins.set(g, static_cast<double>(begin[g]));
    const HostTensor x = HostTensor(dtype, {rows, k}, 8).fillNormal(random);
    const HostTensor dY = HostTensor(dtype, {rows, n}, 8).fillNormal(random);
    const HostTensor w = HostTensor(dtype, {groups, n, k}).fillNormal(random);
    HostTensor y(dtype, {rows, n}, 8), dX(dtype, {rows, k}, 8);
    HostTensor dW = HostTensor(DType::F32, {groups, n, k}).fillNormal(random); // added to
    Values expectedY(static_cast<std::size_t>(rows * n)), expectedDX(static_cast<std::size_t>(rows * k));
    Values expectedDW = dW.values();
    for (std::int64_t g = 0; g < groups; ++g)
      for (std::int64_t r = begin[g]; r < begin[g + 1]; ++r)
        for (std::int64_t i = 0; i < n; ++i)
          for (std::int64_t j = 0; j < k; ++j) {
            const std::int64_t at = (g * n + i) * k + j;
            expectedY[static_cast<std::size_t>(r * n + i)] += x.get(r * k + j) * w.get(at);
            expectedDX[static_cast<std::size_t>(r * k + j)] += dY.get(r * n + i) * w.get(at);
            expectedDW[static_cast<std::size_t>(at)] += dY.get(r * n + i) * x.get(r * k + j);
          }
    const HostTensor before = dW;
    const auto run = [&](ThreadPool& pool) {
      dW = before;
      cpu::groupedMatmul(pool,
                         {.a = x.view(), .b = w.view(), .c = y.view(), .begins = begins.view(), .transposeB = true});
      cpu::groupedMatmul(pool, {.a = dY.view(), .b = w.view(), .c = dX.view(), .begins = begins.view()});
      cpu::groupedWeightGradient(pool, {.dY = dY.view(), .x = x.view(), .dW = dW.view(), .begins = begins.view()});
      return std::vector<HostTensor>{y, dX, dW};
    };
    ThreadPool pool(2);
    run(pool);
    MILLRACE_COMPARE(y, expectedY, 1e-6);
    MILLRACE_COMPARE(dX, expectedDX, 1e-6);
    MILLRACE_COMPARE(dW, expectedDW, 1e-6);
    QVERIFY(y.paddingIntact() && dX.paddingIntact() && dW.paddingIntact());
    QVERIFY(equalForAllThreadCounts(run));
  }

  void rows_data() {
    QTest::addColumn<bool>("bf16");
    QTest::addColumn<int>("isa");
    for (const bool bf16 : {false, true})
      for (const cpu::Isa isa : {cpu::Isa::Baseline, cpu::Isa::Avx2, cpu::Isa::Avx512})
        QTest::addRow("%s %s", nameOf(isa), bf16 ? "bf16" : "fp32") << bf16 << static_cast<int>(isa);
  }
  void rows() {
    QFETCH(bool, bf16);
    QFETCH(int, isa);
    MILLRACE_NEED_ISA(static_cast<cpu::Isa>(isa));
    const DType dtype = bf16 ? DType::BF16 : DType::F32;
    const std::int64_t tokens = 37, choices = 3, width = 83;
    Random random(6);
    HostTensor x = HostTensor(dtype, {tokens * choices, width}, 4).fillNormal(random);
    HostTensor dY = HostTensor(dtype, {tokens * choices, width}, 4).fillNormal(random);
    const HostTensor residual = HostTensor(dtype, {tokens, width}, 2).fillNormal(random);
    const HostTensor weights = HostTensor(DType::F32, {tokens, choices}).fillNormal(random);
    HostTensor rows(DType::I32, {tokens, choices});
    for (std::int64_t c = 0; c < tokens * choices; ++c)
      rows.set(c, static_cast<double>(c * 7 % (tokens * choices))); // 7 and 111 share no divisor
    Values plain(static_cast<std::size_t>(tokens * width)), weighed = residual.values();
    for (std::int64_t c = 0; c < tokens * choices; ++c)
      for (std::int64_t i = 0; i < width; ++i) {
        const double value = x.get(static_cast<std::int64_t>(rows.get(c)) * width + i);
        plain[static_cast<std::size_t>(c / choices * width + i)] += value;
        weighed[static_cast<std::size_t>(c / choices * width + i)] += value * weights.get(c);
      }
    ThreadPool pool(2);
    HostTensor y(dtype, {tokens, width}, 6);
    CombineRowsArgs combine{.x = x.view(), .rows = rows.view(), .weights = {}, .residual = {}, .y = y.view()};
    cpu::combineRows(pool, combine, static_cast<cpu::Isa>(isa));
    MILLRACE_COMPARE(y, plain, 1e-6);
    combine.weights = weights.view();
    combine.residual = residual.view();
    cpu::combineRows(pool, combine, static_cast<cpu::Isa>(isa));
    MILLRACE_COMPARE(y, weighed, 1e-6);
    QVERIFY(y.paddingIntact());

    Values dots, dX = dY.values(), weighedX = x.values();
    for (std::int64_t r = 0; r < tokens * choices; ++r) {
      dots.push_back(dot(rowOf(dY, r), rowOf(x, r)));
      for (std::int64_t i = 0; i < width; ++i) {
        dX[static_cast<std::size_t>(r * width + i)] *= weights.get(r);
        weighedX[static_cast<std::size_t>(r * width + i)] *= weights.get(r);
      }
    }
    HostTensor dWeights(DType::F32, {tokens * choices});
    cpu::weighRows(pool,
                   {.dY = dY.view(),
                    .x = x.view(),
                    .weights = weights.view().reshaped({tokens * choices}),
                    .dWeights = dWeights.view()},
                   static_cast<cpu::Isa>(isa));
    MILLRACE_COMPARE(dWeights, dots, 1e-6);
    MILLRACE_COMPARE(dY, dX, 1e-6);
    MILLRACE_COMPARE(x, weighedX, 1e-6);
    QVERIFY(dY.paddingIntact() && x.paddingIntact() && dWeights.paddingIntact());
  }
};

QTEST_GUILESS_MAIN(TestExperts)
#include "test_experts.moc"
