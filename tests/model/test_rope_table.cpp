// Rotary tables against tests/golden/rope/expected.json, which transformers computed for each kind of scaling.
#include "base/json_reader.h"
#include "model/config_import.h"
#include "model/rope_table.h"

#include <QtTest>
#include <bit>
#include <cmath>

using namespace millrace;

namespace {

const Json& cases() {
  static LocalFileSystem files;
  static const Json root = valueOrThrow(readJsonFile(files, Path(MILLRACE_TEST_DATA) / "rope" / "expected.json"));
  return root["cases"];
}

/// The case's rotary parameters through config import, so that the two are tested as they are used.
RopeSpec ropeOf(const Json& one) {
  Json config = Json::parse(R"({"model_type": "llama", "num_attention_heads": 4, "num_hidden_layers": 1})");
  config["hidden_size"] = 4 * one["head_dim"].get<std::int64_t>();
  config["max_position_embeddings"] = one["max_positions"];
  config["rope_parameters"] = one["rope"];
  return *valueOrThrow(modelSpecFromConfig(config, "case")).rope;
}

int ulps(float a, float b) {
  return std::abs(std::bit_cast<std::int32_t>(a) - std::bit_cast<std::int32_t>(b)); // positive numbers
}

} // namespace

class TestRopeTable : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void matchesTransformers_data() {
    QTest::addColumn<int>("index");
    int index = 0;
    for (const Json& one : cases()) QTest::addRow("%s", one["name"].get<std::string>().c_str()) << index++;
    QVERIFY(index > 10);
  }

  void matchesTransformers() {
    QFETCH(int, index);
    const Json& one = cases()[static_cast<std::size_t>(index)];
    const RopeSpec rope = ropeOf(one);
    const auto headDim = one["head_dim"].get<std::int64_t>();
    const auto maxPositions = one["max_positions"].get<std::int64_t>();
    const auto length = one["length"].get<std::int64_t>();
    const auto half = static_cast<std::size_t>(headDim / 2);
    QCOMPARE(rotaryDim(rope, headDim), headDim);
    QVERIFY(ulps(ropeAttentionFactor(rope), one["attention_factor"].get<float>()) <= 1);

    const std::vector<float> frequencies = ropeInverseFrequencies(rope, headDim, maxPositions, length);
    QCOMPARE(frequencies.size(), half);
    for (std::size_t i = 0; i < half; ++i) {
      const float expected = one["inv_freq"][i].get<float>();
      QVERIFY2(ulps(frequencies[i], expected) <= 2,
               qPrintable(QString("pair %1: %2, expected %3").arg(i).arg(frequencies[i]).arg(expected)));
    }

    const std::vector<float> table = ropeTable(rope, headDim, length, maxPositions, length);
    QCOMPARE(table.size(), static_cast<std::size_t>(length) * 2 * half);
    for (std::size_t row = 0; row < one["positions"].size(); ++row) {
      const auto position = one["positions"][row].get<std::size_t>();
      for (std::size_t i = 0; i < half; ++i) {
        // Two roundings of the frequency and one of the product, at this angle; and the functions' own.
        const double angle = static_cast<double>(position) * static_cast<double>(frequencies[i]);
        const double bound = (3 * angle + 4) * 0x1p-24 * 1.5;
        const float cosine = table[position * 2 * half + i], sine = table[position * 2 * half + half + i];
        QVERIFY(std::abs(cosine - one["cos"][row][i].get<float>()) <= bound);
        QVERIFY(std::abs(sine - one["sin"][row][i].get<float>()) <= bound);
      }
    }
  }

  void partialRotationIsEven() {
    RopeSpec rope;
    rope.partialRotaryFactor = 0.25;
    QCOMPARE(rotaryDim(rope, 80), std::int64_t{20});
    rope.partialRotaryFactor = 0.4;
    QCOMPARE(rotaryDim(rope, 80), std::int64_t{32});
    QCOMPARE(ropeTable(rope, 80, 3, 16, 3).size(), std::size_t{3 * 32});
  }

  void dynamicFollowsTheLength() {
    RopeSpec rope;
    rope.kind = RopeKind::Dynamic;
    rope.factor = 2;
    const auto within = ropeInverseFrequencies(rope, 64, 1024, 100);
    QVERIFY(within == ropeInverseFrequencies(rope, 64, 1024, 1024));
    const auto beyond = ropeInverseFrequencies(rope, 64, 1024, 2048);
    QCOMPARE(beyond.front(), within.front());
    QVERIFY(beyond.back() < within.back());
  }
};

QTEST_GUILESS_MAIN(TestRopeTable)
#include "test_rope_table.moc"
