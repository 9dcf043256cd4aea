#include "checkpoint/trainer_state.h"

#include "base/random.h"
#include "checkpoint/small_state.h"

#include <QTest>
#include <limits>

using namespace millrace;

class TestTrainerState : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void roundTripIsExact_data() {
    QTest::addColumn<double>("value");
    QTest::newRow("zero") << 0.0;
    QTest::newRow("negative zero") << -0.0;
    QTest::newRow("third") << 1.0 / 3.0;
    QTest::newRow("denormal") << std::numeric_limits<double>::denorm_min();
    QTest::newRow("largest") << std::numeric_limits<double>::max();
    QTest::newRow("infinity") << std::numeric_limits<double>::infinity();
    QTest::newRow("negative infinity") << -std::numeric_limits<double>::infinity();
  }
  void roundTripIsExact() {
    QFETCH(double, value);
    TrainerState state = test::trainerAt(12345);
    state.elapsedSeconds = state.bestValidationLoss.emplace(value);
    const auto json = parseJson(toJson(state).dump(), "state.json");
    QVERIFY(json.has_value());
    const auto back = trainerStateFromJson(*json, "state.json");
    QVERIFY2(back.has_value(), back ? "" : back.error().message.c_str());
    QVERIFY(*back == state);
    QCOMPARE(std::bit_cast<std::uint64_t>(back->elapsedSeconds), std::bit_cast<std::uint64_t>(value));
  }

  void manyRandomDoublesAndWords() {
    Random random(7);
    for (int i = 0; i < 2000; ++i) {
      TrainerState state = test::trainerAt(1);
      const auto bits = random.next();
      state.elapsedSeconds = std::bit_cast<double>((bits & 0x7FF0000000000000ull) == 0x7FF0000000000000ull ? 1 : bits);
      state.seed = random.next();
      state.samplerState = random.next() >> (random.next() % 64);
      const auto back = trainerStateFromJson(*parseJson(toJson(state).dump(), "s"), "s");
      QVERIFY(back && *back == state);
    }
  }

  void absentOptionalsStayAbsent() {
    TrainerState state;
    const auto back = trainerStateFromJson(toJson(state), "s");
    QVERIFY(back && *back == state && !back->bestValidationLoss && !back->lossAverage);
  }

  void badInputIsNamed_data() {
    QTest::addColumn<QString>("key");
    QTest::addColumn<QString>("json");
    QTest::newRow("missing") << "tokens"
                             << "";
    QTest::newRow("negative step") << "step"
                                   << "-1";
    QTest::newRow("fractional") << "row"
                                << "1.5";
    QTest::newRow("text for a number") << "elapsed_seconds"
                                       << R"("soon")";
    QTest::newRow("number for a word") << "seed"
                                       << "17";
    QTest::newRow("word too long") << "sampler_state"
                                   << R"("0x11112222333344445")";
    QTest::newRow("unknown key") << "stepp"
                                 << "3";
  }
  void badInputIsNamed() {
    QFETCH(QString, key);
    QFETCH(QString, json);
    Json state = toJson(test::trainerAt(5));
    if (json.isEmpty())
      state.erase(key.toStdString());
    else
      state[key.toStdString()] = Json::parse(json.toStdString());
    const auto back = trainerStateFromJson(state, "folder/state.json");
    QVERIFY(!back);
    QCOMPARE(back.error().kind, ErrorKind::BadInput);
    QVERIFY2(back.error().message.find("folder/state.json: " + key.toStdString()) != std::string::npos,
             back.error().message.c_str());
  }
};

QTEST_GUILESS_MAIN(TestTrainerState)
#include "test_trainer_state.moc"
