// JSON of files: the tree that the library's own parser makes, for less time; and what is refused before there is one.
#include "base/json_reader.h"
#include "base/random.h"

#include <QElapsedTimer>
#include <QTest>
#include <fmt/format.h>

using namespace millrace;

namespace {

Json randomJson(Random& random, int depth) {
  switch (random.below(depth > 0 ? 8 : 6)) {
  case 0:
    return nullptr;
  case 1:
    return random.below(2) == 0;
  case 2:
    return random.next();
  case 3:
    return -static_cast<std::int64_t>(random.below(1'000'000));
  case 4:
    return random.uniform() * 1e300;
  case 5:
    return fmt::format("\"\\\u00e9\n{}", random.below(100));
  case 6: {
    Json list = Json::array();
    for (std::uint64_t n = random.below(5); n > 0; --n) list.push_back(randomJson(random, depth - 1));
    return list;
  }
  default: {
    Json object = Json::object();
    for (std::uint64_t n = random.below(5); n > 0; --n)
      object[fmt::format("{}", random.below(1000))] = randomJson(random, depth - 1);
    return object;
  }
  }
}

} // namespace

class TestJsonReader : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void theTreeIsTheLibrarys() {
    Random random(1, "json");
    for (int round = 0; round < 500; ++round) {
      const std::string text = randomJson(random, 5).dump(static_cast<int>(random.below(3)) - 1);
      const auto parsed = parseJson(text, "text");
      QVERIFY2(parsed.has_value(), text.c_str());
      QCOMPARE(parsed->dump(), Json::parse(text).dump()); // keys in their order as well
    }
  }

  void refused_data() {
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<QString>("part");
    QTest::newRow("nothing") << QByteArray() << "not valid JSON at byte 1";
    QTest::newRow("cut off") << QByteArray(R"({"a": [1, 2)") << "not valid JSON at byte 12";
    QTest::newRow("more behind it") << QByteArray("{} {}") << "not valid JSON at byte 4";
    QTest::newRow("a key twice") << QByteArray(R"({"a": {"b": 1, "c": 2, "b": 3}})") << "the key 'b' appears twice";
    QTest::newRow("the same key elsewhere") << QByteArray(R"({"a": {"a": [{"a": 1}, {"a": 2}]}})") << "";
    QTest::newRow("128 levels") << QByteArray(128, '[') + QByteArray(128, ']') << "";
    QTest::newRow("129 levels") << QByteArray(129, '[') + QByteArray(129, ']') << "nested deeper than 128 levels";
    QTest::newRow("no end of levels") << QByteArray(1'000'000, '[') << "nested deeper than 128 levels";
    QTest::newRow("a number beyond all") << QByteArray("1e999") << "not valid JSON";
    QTest::newRow("a NUL") << QByteArray("{}\0{}", 5) << "at byte 2: a NUL byte";
    QTest::newRow("no text") << QByteArray("\"\xff\"") << "not valid JSON";
  }
  void refused() {
    QFETCH(QByteArray, text);
    QFETCH(QString, part);
    const auto parsed = parseJson(text.toStdString(), "file.json");
    QCOMPARE(parsed.has_value(), part.isEmpty());
    if (!parsed)
      QVERIFY2(QString::fromStdString(parsed.error().message).startsWith("file.json: ") &&
                   QString::fromStdString(parsed.error().message).contains(part),
               parsed.error().message.c_str());
  }

  /// As an index of tensors has them. Looking for each among those before it would take a thousand times as long.
  void manyKeys() {
    std::string text = "{";
    for (int i = 0; i < 60'000; ++i) text += fmt::format("{}\"layers.{}\": 1", i > 0 ? "," : "", i);
    text += "}";
    QElapsedTimer timer;
    timer.start();
    const auto sorted = nlohmann::json::parse(text); // a tree of keys
    const qint64 theirs = timer.nsecsElapsed();
    timer.start();
    const auto parsed = parseJson(text, "text");
    const qint64 ours = timer.nsecsElapsed();
    QVERIFY(parsed && parsed->size() == sorted.size());
    QVERIFY2(ours < 20 * theirs, fmt::format("{} ns, a sorted tree {} ns", ours, theirs).c_str());
  }

  void unknownKeys_data() {
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<QString>("message");
    QTest::newRow("a slip") << QByteArray(R"({"stepz": 1})") << "f: stepz is not a known key; did you mean steps?";
    QTest::newRow("nothing like it") << QByteArray(R"({"frobnicate": 1})")
                                     << "f: frobnicate is not a known key; known here: rate, steps";
  }
  void unknownKeys() {
    QFETCH(QByteArray, text);
    QFETCH(QString, message);
    const Json json = Json::parse(text.toStdString());
    JsonReader reader(json, "f");
    (void)reader.integer("steps", 1, 0, 9);
    (void)reader.integer("rate", 1, 0, 9);
    const Status status = reader.finish();
    QVERIFY(!status);
    QCOMPARE(QString::fromStdString(status.error().message), message);
  }
};

QTEST_GUILESS_MAIN(TestJsonReader)
#include "test_json_reader.moc"
