// Texts that end a generation, found wherever the pieces are cut.
#include "api/stop_strings.h"

#include <QtTest>

using namespace millrace;

class TestStopStrings : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void found_data() {
    QTest::addColumn<QStringList>("strings");
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("expected");
    QTest::addColumn<bool>("found");
    const auto row = [](const char* name, const QStringList& strings, const char* text, const char* expected, bool is) {
      QTest::newRow(name) << strings << QString::fromUtf8(text) << QString::fromUtf8(expected) << is;
    };
    row("none", {}, "all of it", "all of it", false);
    row("not there", {"END"}, "all of it EN", "all of it EN", false);
    row("in the middle", {"END"}, "some END more", "some ", true);
    row("at the beginning", {"END"}, "END", "", true);
    row("at the end", {"\n\n"}, "a\nb\n\n", "a\nb", true);
    row("begins twice", {"aab"}, "aaab", "a", true);
    row("a part that turns out wrong", {"abcabd"}, "abcabcabd.", "abc", true);
    row("the first of several", {"five", "two"}, "one two five", "one ", true);
    row("the longer began first", {"bc", "abcd"}, "xabcd", "x", true);
    row("the longer does not come", {"bc", "abcd"}, "xabce", "xa", true);
    row("the longer is cut off", {"bc", "abcd"}, "xabc", "xa", true);
    row("characters of several bytes", {"水車"}, "風車 水車", "風車 ", true);
    row("overlapping itself", {"aa"}, "baaa", "b", true);
  }
  void found() {
    QFETCH(QStringList, strings);
    QFETCH(QString, text);
    QFETCH(QString, expected);
    QFETCH(bool, found);
    std::vector<std::string> stops;
    for (const QString& string : strings) stops.push_back(string.toStdString());
    for (const qsizetype size : {qsizetype{1}, qsizetype{2}, qsizetype{3}, qsizetype{100}}) {
      StopStrings machine = valueOrThrow(StopStrings::create(stops));
      std::string all;
      for (qsizetype at = 0; at < text.size() && !machine.found(); at += size) {
        const std::string piece = machine.push(text.mid(at, size).toStdString());
        QVERIFY(QString::fromStdString(piece).toStdString() == piece); // whole characters
        all += piece;
      }
      all += machine.finish();
      QCOMPARE(QString::fromStdString(all), expected);
      QCOMPARE(machine.found(), found);
      QVERIFY(machine.finish().empty());
    }
  }

  void nothingIsHeldBackForLong() {
    StopStrings machine = valueOrThrow(StopStrings::create({"###"}));
    QCOMPARE(machine.push("a #"), std::string("a "));
    QCOMPARE(machine.push("b"), std::string("#b"));
    QCOMPARE(machine.push("##"), std::string());
    QCOMPARE(machine.push("#"), std::string());
    QVERIFY(machine.found());
    QCOMPARE(machine.push("more"), std::string());
  }

  void refused() {
    for (const std::vector<std::string>& strings : {std::vector<std::string>{""},
                                                    {"a", ""},
                                                    {"\x80x"},
                                                    {std::string(1025, 'a')},
                                                    std::vector<std::string>(65, "a")}) {
      const auto machine = StopStrings::create(strings);
      QVERIFY(!machine && machine.error().kind == ErrorKind::BadInput);
    }
  }
};

QTEST_GUILESS_MAIN(TestStopStrings)
#include "test_stop_strings.moc"
