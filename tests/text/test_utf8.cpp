// UTF-8 checking and repair, against the rules of Unicode's table 3-7 and of maximal subparts.
#include "text/byte_level.h"
#include "text/utf8.h"

#include <QtTest>
#include <set>

using namespace millrace;

class TestUtf8 : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void repairs_data() {
    QTest::addColumn<QByteArray>("bytes");
    QTest::addColumn<QByteArray>("repaired");
    QTest::addColumn<int>("count");
    const auto row = [](const char* name, std::string bytes, std::string repaired, int count) {
      QTest::newRow(name) << QByteArray::fromStdString(bytes) << QByteArray::fromStdString(repaired) << count;
    };
    row("empty", "", "", 0);
    row("ascii", "plain text of more than eight bytes", "plain text of more than eight bytes", 0);
    row("all lengths", "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80z", "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80z", 0);
    row("lone continuation", "a\x80z", "a\xEF\xBF\xBDz", 1);
    row("overlong two", "\xC0\xAF", "\xEF\xBF\xBD\xEF\xBF\xBD", 2);
    row("overlong three", "\xE0\x80\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD", 3);
    row("surrogate", "\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD", 3);
    row("above the last", "\xF4\x90\x80\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD", 4);
    row("cut character is one", "\xE2\x82z", "\xEF\xBF\xBDz", 1);
    row("cut at the end", "ok\xF0\x9F\x98", "ok\xEF\xBF\xBD", 1);
    row("0xFF", "\xFF\xFE", "\xEF\xBF\xBD\xEF\xBF\xBD", 2);
  }
  void repairs() {
    QFETCH(QByteArray, bytes);
    QFETCH(QByteArray, repaired);
    QFETCH(int, count);
    std::string out = "before ";
    QCOMPARE(appendRepairedUtf8(bytes.toStdString(), out), std::int64_t{count});
    QCOMPARE(QByteArray::fromStdString(out), "before " + repaired);
    QCOMPARE(isValidUtf8(bytes.toStdString()), count == 0);
    QVERIFY(isValidUtf8(out));
  }

  void everyCodePointRoundTrips() {
    for (char32_t code = 0; code < 0x110000; ++code) {
      if (code >= 0xD800 && code < 0xE000) continue;
      std::string text;
      appendUtf8(code, text);
      const Utf8Step step = stepUtf8(text, 0);
      QVERIFY(step.kind == Utf8Step::Kind::Character);
      QVERIFY(step.code == code && static_cast<std::size_t>(step.length) == text.size());
      for (std::size_t cut = 1; cut < text.size(); ++cut) QCOMPARE(incompleteUtf8Tail(text.substr(0, cut)), cut);
      QCOMPARE(incompleteUtf8Tail(text), std::size_t{0});
    }
  }

  void byteLevelIsABijection() {
    std::set<char32_t> seen;
    for (int byte = 0; byte < 256; ++byte) {
      const char32_t character = byteLevelCharacter(static_cast<unsigned char>(byte));
      QVERIFY(seen.insert(character).second);
      QCOMPARE(byteLevelByte(character), std::optional<unsigned char>(static_cast<unsigned char>(byte)));
    }
    QVERIFY(byteLevelCharacter(' ') == 0x120); // as in every published vocabulary
    QVERIFY(byteLevelCharacter('\n') == 0x10A);
    QVERIFY(!byteLevelByte(' ') && !byteLevelByte(0x2581));
    QVERIFY(!byteLevelBytes("a b"));
  }
};

QTEST_GUILESS_MAIN(TestUtf8)
#include "test_utf8.moc"
