// Regular expressions, their translation, split behaviours, and the scanners against the patterns that they replace.
#include "base/random.h"
#include "text/split.h"
#include "text/split_scanner.h"

#include <QtTest>

using namespace millrace;

namespace {

std::vector<std::string> matchesOf(std::string_view pattern, std::string_view text) {
  const Regex regex = valueOrThrow(Regex::compile(pattern));
  RegexScratch scratch;
  RegexMatches matches(regex, text, scratch);
  std::vector<std::string> out;
  for (;;) {
    const Regex::Match match = valueOrThrow(matches.next());
    if (!match.found) return out;
    out.emplace_back(text.substr(match.begin, match.end - match.begin));
  }
}

QString shown(const std::vector<std::string>& pieces) {
  QStringList list;
  for (const std::string& piece : pieces) list << QString::fromStdString(piece);
  return list.join('|');
}

std::string randomText(Random& random) {
  static const std::vector<std::string> parts = {
      "a",      "Z",      "word",   "9",      "12345",  " ",          "  ",           "\n",     "\r\n",
      "\t",     "'s",     "'S",     "'t",     "'re",    "'VE",        "'m",           "'ll",    "'Ll",
      "'d",     "'",      "!",      "...",    "\u00e9", "\u017f",     "\u4f60\u597d", "\u0663", "\u00b2",
      "\u00a0", "\u3000", "\u2028", "\u0085", "\u0301", "\U0001F600", "\u1e9e",       "_",      "-"};
  std::string text;
  for (std::uint64_t n = random.below(20); n > 0; --n) text += parts[random.below(parts.size())];
  return text;
}

} // namespace

class TestSplit : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void scannersEqualTheirPatterns_data() {
    QTest::addColumn<int>("split");
    QTest::newRow("gpt2") << int(KnownSplit::Gpt2);
    QTest::newRow("llama3") << int(KnownSplit::Cl100kDigits);
    QTest::newRow("qwen2") << int(KnownSplit::Cl100kDigit);
  }
  void scannersEqualTheirPatterns() {
    QFETCH(int, split);
    const auto known = static_cast<KnownSplit>(split);
    QCOMPARE(findKnownSplit(knownSplitPattern(known)), std::optional(known));
    Random random(17, static_cast<std::uint64_t>(split));
    for (int round = 0; round < 5000; ++round) {
      const std::string text = randomText(random);
      std::vector<std::string> scanned;
      for (SplitScanner scanner(known, text); !scanner.atEnd();) scanned.emplace_back(scanner.next());
      const auto expected = matchesOf(knownSplitPattern(known), text);
      QVERIFY2(scanned == expected, qPrintable(shown(scanned) + "\n" + shown(expected)));
    }
  }

  void onigurumaSyntax_data() {
    QTest::addColumn<QString>("pattern");
    QTest::addColumn<QString>("text");
    QTest::addColumn<QString>("matches");
    QTest::newRow("space is not U+180E") << R"(\s)" << QString::fromUtf8("a\u180eb c") << " ";
    QTest::newRow("NEL is a space") << R"(x\sx)" << QString::fromUtf8("x\u0085x") << QString::fromUtf8("x\u0085x");
    QTest::newRow("marks are word characters")
        << R"(\w+)" << QString::fromUtf8("e\u0301_\u203f-") << QString::fromUtf8("e\u0301_\u203f");
    QTest::newRow("in a class") << R"([^\s\w]+)" << QString::fromUtf8("a !? \u180e") << QString::fromUtf8("!?|\u180e");
    QTest::newRow("h is a hexadecimal digit") << R"(\h+)"
                                              << "xyz 1aF"
                                              << "1aF";
    QTest::newRow("lines") << "^.$"
                           << "a\nb\ncd"
                           << "a|b";
    QTest::newRow("m is dot-all") << "(?m:a.)"
                                  << "ab a\n"
                                  << "ab|a\n";
    QTest::newRow("no case") << "(?i:'s)" << QString::fromUtf8("'s'S'\u017f") << QString::fromUtf8("'s|'S|'\u017f");
    QTest::newRow("u escape") << R"([\u4e00-\u9fa5]+)" << QString::fromUtf8("a\u4f60\u597db")
                              << QString::fromUtf8("\u4f60\u597d");
    QTest::newRow("look ahead") << R"(\s+(?!\S)|\s+)"
                                << "a   b"
                                << "  | ";
    QTest::newRow("plus after an interval repeats it") << R"(\p{N}{1,3}+|x)"
                                                       << "1234x"
                                                       << "1234|x";
    QTest::newRow("plus after a group's interval") << "(?:ab){2}+"
                                                   << "ababab abab"
                                                   << "abab|abab";
    QTest::newRow("question mark after an exact interval") << "xa{2}?"
                                                           << "xaa xa"
                                                           << "xaa|x";
    QTest::newRow("interval without a beginning") << "a{,2}b"
                                                  << "aaab b"
                                                  << "aab|b";
    QTest::newRow("a brace alone") << "a{x}"
                                   << "a{x}"
                                   << "a{x}";
    QTest::newRow("a script is not its extensions")
        << R"(\p{Han}+)" << QString::fromUtf8("\u4f60\u3002\u597d\u3001") << QString::fromUtf8("\u4f60|\u597d");
    QTest::newRow("not a script") << R"(\P{Han}+)" << QString::fromUtf8("\u4f60\u3002a")
                                  << QString::fromUtf8("\u3002a");
    QTest::newRow("boundaries go by marks")
        << R"(\b\w+\b)" << QString::fromUtf8("e\u0301 x") << QString::fromUtf8("e\u0301|x");
    QTest::newRow("no boundary") << R"(\Bb)"
                                 << "ab b"
                                 << "b";
    QTest::newRow("named classes") << "[[:alpha:]]+|[[:digit:]]+" << QString::fromUtf8("a\u00e912")
                                   << QString::fromUtf8("a\u00e9|12");
    QTest::newRow("Q is a letter") << R"(\Qa\E+)"
                                   << "QaEE"
                                   << "QaEE";
    QTest::newRow("v is one character") << R"(\v)"
                                        << "a\n\v"
                                        << "\v";
    QTest::newRow("a class in a class") << "[a[bc]]+"
                                        << "xabcx"
                                        << "abc";
    QTest::newRow("a hyphen between classes") << "[[a][c]-[e]]+"
                                              << "abc-de"
                                              << "a|c-|e";
    QTest::newRow("a range from a bracket") << "[]-a]+"
                                            << "x]^_`ab"
                                            << "]^_`a";
    QTest::newRow("not of a class in a class") << "[^a[bc]]+"
                                               << "xxabyy"
                                               << "xx|yy";
    QTest::newRow("empty matches") << "x*"
                                   << "axb"
                                   << "|x|";
  }
  void onigurumaSyntax() {
    QFETCH(QString, pattern);
    QFETCH(QString, text);
    QFETCH(QString, matches);
    QCOMPARE(shown(matchesOf(pattern.toStdString(), text.toStdString())), matches);
  }

  void refusedPatterns_data() {
    QTest::addColumn<QString>("pattern");
    QTest::newRow("unbalanced") << "(a";
    QTest::newRow("intersection") << "[a-z&&[^b]]";
    QTest::newRow("negated class in a class") << "[a[^b]]";
    QTest::newRow("class in a class without end") << "[a[b]";
    QTest::newRow("negated word in a class") << R"([\W])";
    QTest::newRow("punctuation by name") << "[[:punct:]]";
    QTest::newRow("named class without end") << "[[:alpha]";
    QTest::newRow("property without braces") << R"(\pL)";
    QTest::newRow("single bytes") << R"(\C)";
    QTest::newRow("huge") << QString(100000, 'a');
    QTest::newRow("deep") << QString(5000, '(') + QString(5000, ')');
  }
  void refusedPatterns() {
    QFETCH(QString, pattern);
    const auto regex = Regex::compile(pattern.toStdString());
    QVERIFY(!regex);
    QVERIFY(!regex.error().message.empty());
  }

  void explosionIsAnError() {
    const Regex regex = valueOrThrow(Regex::compile("(a+)+(b+)+c"));
    RegexScratch scratch;
    const auto match = regex.find(std::string(5000, 'a') + std::string(5000, 'b'), 0, scratch);
    QVERIFY(!match || !match->found);
  }

  void behaviors_data() {
    QTest::addColumn<QString>("behavior");
    QTest::addColumn<bool>("invert");
    QTest::addColumn<QString>("pieces");
    // "the-final--countdown" as in Hugging Face's own description of the behaviours
    QTest::newRow("removed") << "Removed" << false << "the|final|countdown";
    QTest::newRow("isolated") << "Isolated" << false << "the|-|final|-|-|countdown";
    QTest::newRow("previous") << "MergedWithPrevious" << false << "the-|final-|-|countdown";
    QTest::newRow("next") << "MergedWithNext" << false << "the|-final|-|-countdown";
    QTest::newRow("contiguous") << "Contiguous" << false << "the|-|final|--|countdown";
    QTest::newRow("removed inverted") << "Removed" << true << "-|-|-";
  }
  void behaviors() {
    QFETCH(QString, behavior);
    QFETCH(bool, invert);
    QFETCH(QString, pieces);
    const Regex regex = valueOrThrow(Regex::literal("-"));
    RegexScratch scratch;
    std::vector<SplitSpan> spans;
    const std::string text = "the-final--countdown";
    QVERIFY(spansOfRegex(text, regex, invert, scratch, spans));
    std::vector<PieceList::Piece> out;
    appendSplit({text, true}, spans, valueOrThrow(parseSplitBehavior(behavior.toStdString(), "test")), out);
    std::vector<std::string> got;
    for (const auto& piece : out) got.emplace_back(piece.text);
    QCOMPARE(shown(got), pieces);
    QVERIFY(!parseSplitBehavior("Sideways", "test"));
  }
};

QTEST_GUILESS_MAIN(TestSplit)
#include "test_split.moc"
