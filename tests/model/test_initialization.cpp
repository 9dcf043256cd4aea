// Starting values: the right distribution for each parameter, and the same whatever pieces they are drawn in.
#include "configs.h"
#include "model/initialization.h"

#include <QtTest>
#include <cmath>

using namespace millrace;
using namespace millrace::test;

namespace {

ModelSpec specOf(const std::string& family, const std::string& change = "") {
  return valueOrThrow(modelSpecFromConfig(changedConfig(family, change), "config"));
}

std::vector<float> whole(const ModelSpec& spec, const ParameterSpec& parameter, std::uint64_t seed = 7) {
  std::vector<float> values(static_cast<std::size_t>(parameter.elements()));
  initialValues(spec, parameter, seed, 0, values);
  return values;
}

} // namespace

class TestInitialization : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void distributions_data() {
    QTest::addColumn<QString>("family");
    QTest::addColumn<QString>("change");
    const QString wide = R"({"attention_bias": true, "mlp_bias": true, "initializer_range": 0.05})";
    QTest::newRow("llama") << "llama" << wide;
    QTest::newRow("qwen3") << "qwen3"
                           << "";
    QTest::newRow("gemma2") << "gemma2"
                            << "";
    QTest::newRow("gpt2") << "gpt2"
                          << R"({"n_layer": 8})";
  }
  void distributions() {
    QFETCH(QString, family);
    QFETCH(QString, change);
    const ModelSpec spec = specOf(family.toStdString(), change.toStdString());
    for (const BlockSpec& block : blocksOf(spec)) {
      for (const ParameterSpec& parameter : block.parameters) {
        const std::vector<float> values = whole(spec, parameter);
        double sum = 0, squares = 0;
        for (const float value : values) {
          sum += value;
          squares += static_cast<double>(value) * value;
        }
        const auto n = static_cast<double>(values.size());
        double deviation = parameter.shape.rank() >= 2 ? spec.initializerRange : 0;
        if (parameter.name.ends_with("c_proj.weight")) deviation = 0.02 / 4; // sqrt(2 * 8 layers)
        QCOMPARE(initialDeviation(spec, parameter), deviation);
        if (deviation == 0) {
          const bool multiplies = !parameter.name.ends_with("bias") && family != "gemma2"; // or by one more
          const float expected = multiplies ? 1.0f : 0.0f;
          for (const float value : values) QCOMPARE(value, expected);
        } else { // five standard errors
          QVERIFY(std::abs(sum / n) < 5 * deviation / std::sqrt(n));
          QVERIFY(std::abs(squares / n - deviation * deviation) < 5 * deviation * deviation * std::sqrt(2 / n));
        }
      }
    }
  }

  void piecesDoNotMatter() {
    const ModelSpec spec = specOf("llama");
    const ParameterSpec parameter = blocksOf(spec).front().parameters.front();
    const std::vector<float> expected = whole(spec, parameter);
    for (const std::size_t step :
         {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{127}, std::size_t{1000}}) {
      std::vector<float> values(expected.size());
      std::vector<std::size_t> starts;
      for (std::size_t at = 0; at < values.size(); at += step) starts.insert(starts.begin(), at); // last piece first
      for (const std::size_t at : starts)
        initialValues(spec, parameter, 7, static_cast<std::int64_t>(at),
                      std::span(values).subspan(at, std::min(step, values.size() - at)));
      QVERIFY(values == expected);
    }
  }

  void seedAndNameMatter() {
    const ModelSpec spec = specOf("llama");
    const auto blocks = blocksOf(spec);
    const ParameterSpec& embedding = blocks.front().parameters.front();
    const ParameterSpec& head = blocks.back().parameters.front();
    QVERIFY(embedding.shape == head.shape);
    QVERIFY(whole(spec, embedding) != whole(spec, head));
    QVERIFY(whole(spec, embedding, 1) != whole(spec, embedding, 2));
    QVERIFY(whole(spec, embedding, 1) == whole(spec, embedding, 1));
  }

  void blocksHaveZeroPadding() {
    const ModelSpec spec = specOf("qwen2", R"({"hidden_size": 36, "head_dim": 6})");
    const BlockSpec block = blocksOf(spec)[1];
    std::vector<float> values(static_cast<std::size_t>(block.elements), 9.0f);
    initialBlockValues(spec, block, 7, 0, values);
    std::vector<bool> used(values.size());
    for (const ParameterSpec& parameter : block.parameters) {
      const std::vector<float> expected = whole(spec, parameter);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        QCOMPARE(values[static_cast<std::size_t>(parameter.offset) + i], expected[i]);
        used[static_cast<std::size_t>(parameter.offset) + i] = true;
      }
    }
    for (std::size_t i = 0; i < values.size(); ++i)
      if (!used[i]) QCOMPARE(values[i], 0.0f);
    std::vector<float> middle(301);
    initialBlockValues(spec, block, 7, 77, middle);
    QVERIFY(std::equal(middle.begin(), middle.end(), values.begin() + 77));
  }
};

QTEST_GUILESS_MAIN(TestInitialization)
#include "test_initialization.moc"
