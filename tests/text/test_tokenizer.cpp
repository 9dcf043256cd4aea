// Tokenizers beyond the golden set: components, hostile files, broken text, long words, threads.
#include "base/json_reader.h"
#include "base/random.h"
#include "base/thread_pool.h"
#include "text/byte_level.h"
#include "text/text_stream.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

#include <QtTest>
#include <fmt/format.h>

using namespace millrace;

namespace {

std::string goldenText(const std::string& kind) {
  LocalFileSystem files;
  return valueOrThrow(readTextFile(files, Path(MILLRACE_TEST_DATA) / "tokenizers" / kind / "tokenizer.json"));
}

Json golden(const std::string& kind) {
  return valueOrThrow(parseJson(goldenText(kind), kind));
}

Result<Tokenizer> load(const Json& file) {
  return Tokenizer::parse(file.dump(), "tokenizer.json");
}

/// A model of single characters, <unk>, and what merges are given.
using Merge = std::pair<std::string, std::string>;

Json smallFile(const std::vector<std::string>& characters, const std::vector<Merge>& merges) {
  Json file;
  file["model"]["type"] = "BPE";
  Json vocab = Json::object();
  int id = 0;
  vocab["<unk>"] = id++;
  for (const std::string& character : characters) vocab[character] = id++;
  Json list = Json::array();
  for (const auto& [left, right] : merges) {
    list.push_back({left, right});
    vocab[left + right] = id++;
  }
  file["model"]["vocab"] = vocab;
  file["model"]["merges"] = list;
  return file;
}

std::vector<std::string> tokensOf(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<std::string> out;
  for (const std::int32_t id : valueOrThrow(tokenizer.encode(text, false))) out.emplace_back(*tokenizer.token(id));
  return out;
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += part;
  return text;
}

/// The first of the earliest merges again and again.
std::vector<std::string> mergedByDefinition(std::vector<std::string> symbols, const std::vector<Merge>& merges) {
  for (;;) {
    std::size_t bestRank = merges.size();
    std::size_t bestAt = 0;
    for (std::size_t i = 0; i + 1 < symbols.size(); ++i)
      for (std::size_t rank = 0; rank < bestRank; ++rank)
        if (symbols[i] == merges[rank].first && symbols[i + 1] == merges[rank].second) {
          bestRank = rank;
          bestAt = i;
        }
    if (bestRank == merges.size()) return symbols;
    symbols[bestAt] += symbols[bestAt + 1];
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(bestAt) + 1);
  }
}

std::string randomBytes(Random& random, std::size_t most) {
  std::string bytes;
  for (std::uint64_t n = random.below(most); n > 0; --n) bytes.push_back(static_cast<char>(random.next()));
  return bytes;
}

} // namespace

class TestTokenizer : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void unsupportedIsNamed_data() {
    QTest::addColumn<QString>("path");
    QTest::addColumn<QString>("value");
    QTest::addColumn<QStringList>("words");
    const auto row = [](const char* name, const char* path, const char* value, QStringList words) {
      QTest::newRow(name) << QString(path) << QString(value) << words;
    };
    row("model", "/model/type", "'Unigram'", {"model", "Unigram", "BPE"});
    row("dropout", "/model/dropout", "0.1", {"dropout"});
    row("model key", "/model/novelty", "1", {"novelty"});
    row("top key", "/novelty", "1", {"novelty"});
    row("normalizer", "/normalizer", "{'type':'Precompiled'}", {"normalizer", "Precompiled"});
    row("nested", "/normalizer", "{'type':'Sequence','normalizers':[{'type':'NFC'},{'type':'Nmt'}]}",
        {"normalizers[1]", "Nmt"});
    row("pre-tokenizer", "/pre_tokenizer", "{'type':'UnicodeScripts'}", {"pre_tokenizer", "UnicodeScripts"});
    row("option", "/pre_tokenizer", "{'type':'ByteLevel','novelty':1}", {"pre_tokenizer", "novelty"});
    row("option type", "/pre_tokenizer", "{'type':'ByteLevel','use_regex':3}", {"use_regex"});
    row("regex", "/pre_tokenizer", "{'type':'Split','pattern':{'Regex':'(a'},'behavior':'Isolated'}",
        {"pre_tokenizer.pattern"});
    row("behavior", "/pre_tokenizer", "{'type':'Split','pattern':{'String':'a'},'behavior':'Sideways'}", {"Sideways"});
    row("post-processor", "/post_processor", "{'type':'Novel'}", {"post_processor", "Novel"});
    row("template", "/post_processor",
        "{'type':'TemplateProcessing','single':[{'SpecialToken':{'id':'[X]'}}],'special_tokens':{}}",
        {"single[0]", "[X]"});
    row("template's id", "/post_processor",
        "{'type':'TemplateProcessing','single':[{'SpecialToken':{'id':'[X]'}}],'special_tokens':{'[X]':{'ids':[99999]}}"
        "}",
        {"post_processor", "99999"});
    row("added id", "/post_processor", "{'type':'BertProcessing','cls':['a',1],'sep':['b',99999]}",
        {"post_processor", "99999"});
    row("class", "/pre_tokenizer", "{'type':'Split','pattern':{'Regex':'[a[^b]]'},'behavior':'Isolated'}",
        {"pre_tokenizer.pattern", "[^ inside a class"});
    row("suffix", "/decoder", "{'type':'BPEDecoder','suffix':''}", {"decoder.suffix"});
    row("decoder", "/decoder", "{'type':'WordPiece'}", {"decoder", "WordPiece"});
    row("no type", "/decoder", "{}", {"decoder.type"});
    row("unk", "/model/unk_token", "'<none>'", {"unk_token", "<none>"});
    row("merge", "/model/merges/0", "['q','zzzz']", {"merges[0]", "zzzz"});
    row("merge shape", "/model/merges/0", "'a b c'", {"merges[0]"});
    row("id", "/model/vocab/!", "-4", {"'!'", "-4"});
    row("id twice", "/model/vocab/!", "5", {"same id 5"});
    row("id far away", "/model/vocab/!", "2000000000", {"2000000000"});
    row("added", "/added_tokens/0", "{'id':'x','content':'y'}", {"added_tokens[0].id"});
  }
  void unsupportedIsNamed() {
    QFETCH(QString, path);
    QFETCH(QString, value);
    QFETCH(QStringList, words);
    Json file = golden("gpt2");
    file[Json::json_pointer(path.toStdString())] = Json::parse(value.replace('\'', '"').toStdString());
    const auto tokenizer = load(file);
    QVERIFY(!tokenizer);
    QCOMPARE(int(tokenizer.error().kind), int(ErrorKind::BadInput));
    const QString message = QString::fromStdString(tokenizer.error().message);
    QVERIFY2(message.startsWith("tokenizer.json"), qPrintable(message));
    for (const QString& word : words) QVERIFY2(message.contains(word), qPrintable(message));
  }

  /// Words of SentencePiece-style files are encoded apart from one another only where no merge joins them.
  void mergesMayReachOverWords_data() {
    QTest::addColumn<QStringList>("merges");
    QTest::addColumn<QString>("text");
    QTest::addColumn<QStringList>("tokens");
    const QString m = QString::fromUtf8("\u2581");
    QTest::newRow("within words") << QStringList{m + " a", "a b", m + "a b"} << m + "ab" + m + "ab"
                                  << QStringList{m + "ab", m + "ab"};
    QTest::newRow("over words") << QStringList{"b " + m, "a b"} << "ab" + m + "a" << QStringList{"a", "b" + m, "a"};
    QTest::newRow("between letters") << QStringList{"a b", "ab ab"} << "babababa"
                                     << QStringList{"b", "abab", "ab", "a"};
    QTest::newRow("runs of spaces") << QStringList{m + " " + m, m + m + " a"} << "b" + m + m + "a" + m
                                    << QStringList{"b", m + m + "a", m};
  }
  void mergesMayReachOverWords() {
    QFETCH(QStringList, merges);
    QFETCH(QString, text);
    QFETCH(QStringList, tokens);
    Json file = smallFile({"a", "b"}, {});
    Json& vocab = file["model"]["vocab"];
    int id = static_cast<int>(vocab.size());
    vocab["\u2581"] = id++;
    for (const QString& merge : merges) {
      file["model"]["merges"].push_back(merge.toStdString());
      vocab[QString(merge).remove(' ').toStdString()] = id++;
    }
    const Tokenizer tokenizer = valueOrThrow(load(file));
    QStringList got;
    for (const std::string& token : tokensOf(tokenizer, text.toStdString())) got << QString::fromStdString(token);
    QCOMPARE(got, tokens);
  }

  /// Marks and compositions that came after Unicode 9 stay as they are.
  void normalFormsAreOfUnicode9_data() {
    QTest::addColumn<QString>("text");
    QTest::addColumn<bool>("changes");
    QTest::newRow("a ligature") << QString::fromUtf8("\ufb01") << true;
    QTest::newRow("an era of 2019") << QString::fromUtf8("\u32ff") << false;
    QTest::newRow("a mark of Unicode 10 behind another") << QString::fromUtf8("e\u0d3b\u0316") << false;
    QTest::newRow("marks that change places") << QString::fromUtf8("e\u0301\u0316") << true;
  }
  void normalFormsAreOfUnicode9() {
    QFETCH(QString, text);
    QFETCH(bool, changes);
    Json file = golden("gpt2");
    const auto plain = valueOrThrow(valueOrThrow(load(file)).encode(text.toStdString(), false));
    file["normalizer"] = {{"type", "NFKC"}};
    const auto normal = valueOrThrow(valueOrThrow(load(file)).encode(text.toStdString(), false));
    QCOMPARE(plain != normal, changes);
  }

  void suffixesBecomeSpaces() {
    Json file = smallFile({"a", "b"}, {});
    file["model"]["vocab"]["a</w>"] = 3;
    file["model"]["vocab"]["b</w>"] = 4;
    file["model"]["end_of_word_suffix"] = "</w>";
    file["pre_tokenizer"] = {{"type", "Whitespace"}};
    file["decoder"] = {{"type", "BPEDecoder"}, {"suffix", "</w>"}};
    const Tokenizer tokenizer = valueOrThrow(load(file));
    const auto ids = valueOrThrow(tokenizer.encode("ab a bb", false));
    QCOMPARE(QString::fromStdString(tokenizer.decode(ids, true)), QString("ab a bb"));
  }

  void classesInClassesAreOne() {
    Json file = golden("gpt2");
    file["pre_tokenizer"] = {{"type", "Split"}, {"pattern", {{"Regex", "[^a[bc]]"}}}, {"behavior", "Removed"}};
    const Tokenizer tokenizer = valueOrThrow(load(file));
    QCOMPARE(QString::fromStdString(tokenizer.decode(valueOrThrow(tokenizer.encode("xaybzc]", false)), true)),
             QString("abc"));
  }

  /// Damaged files give errors or, where the damage does no harm, a tokenizer; they never do worse.
  void damagedFiles() {
    const std::string whole = goldenText("llama3");
    Random random(5);
    int refused = 0;
    for (int round = 0; round < 60; ++round) {
      const std::string cut = whole.substr(0, random.below(whole.size() - 4));
      const auto tokenizer = Tokenizer::parse(cut, "cut.json");
      QVERIFY(!tokenizer);
      QVERIFY(QString::fromStdString(tokenizer.error().message).startsWith("cut.json"));
    }
    for (int round = 0; round < 60; ++round) {
      std::string changed = whole;
      for (int i = 0; i < 3; ++i) changed[random.below(changed.size())] = static_cast<char>(random.next());
      const auto tokenizer = Tokenizer::parse(changed, "changed.json");
      if (!tokenizer)
        ++refused;
      else
        (void)tokenizer->encode("Some text, 123!\n", true);
    }
    QVERIFY(refused > 0);
    QVERIFY(!Tokenizer::parse(std::string(100000, '['), "deep.json"));
    QVERIFY(!Tokenizer::parse("", "empty.json"));
    QVERIFY(!Tokenizer::parse("[]", "list.json"));
    QVERIFY(!Tokenizer::parse("{}", "none.json"));
    LocalFileSystem files;
    QVERIFY(!Tokenizer::load(files, "/no/such/tokenizer.json"));
  }

  void brokenTextIsRepaired() {
    const Tokenizer tokenizer = valueOrThrow(load(golden("gpt2")));
    Random random(9);
    for (int round = 0; round < 500; ++round) {
      const std::string bytes = randomBytes(random, 60);
      std::string repaired;
      appendRepairedUtf8(bytes, repaired);
      const auto ids = valueOrThrow(tokenizer.encode(bytes, false));
      QCOMPARE(QByteArray::fromStdString(tokenizer.decode(ids, false)), QByteArray::fromStdString(repaired));
    }
  }

  /// Any ids give valid UTF-8, and a stream gives the same text.
  void anyIdsDecode_data() {
    QTest::addColumn<QString>("kind");
    for (const char* kind : {"gpt2", "qwen2"}) QTest::newRow(kind) << QString(kind);
  }
  void anyIdsDecode() {
    QFETCH(QString, kind);
    const Tokenizer tokenizer = valueOrThrow(load(golden(kind.toStdString())));
    Random random(3);
    for (int round = 0; round < 500; ++round) {
      std::vector<std::int32_t> ids;
      for (int i = 0; i < 20; ++i)
        ids.push_back(
            static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(tokenizer.vocabularySize()) + 10)) - 5);
      const std::string text = tokenizer.decode(ids, false);
      QVERIFY(isValidUtf8(text));
      TextStream stream(tokenizer, false);
      std::string streamed;
      for (const std::int32_t id : ids) {
        const std::string piece = stream.push(id);
        QVERIFY(isValidUtf8(piece));
        streamed += piece;
      }
      QCOMPARE(streamed + stream.finish(), text);
    }
  }

  void streamHoldsBackIncompleteCharacters_data() {
    QTest::addColumn<QString>("kind");
    QTest::newRow("byte-level") << "digits";
    QTest::newRow("byte fallback") << "llama2";
  }
  void streamHoldsBackIncompleteCharacters() {
    QFETCH(QString, kind);
    const Tokenizer tokenizer = valueOrThrow(load(golden(kind.toStdString())));
    // An ancient letter of four bytes, which no merge knows.
    const auto ids = valueOrThrow(tokenizer.encode("x\U00010348", false));
    TextStream stream(tokenizer, true);
    std::vector<std::string> pieces;
    for (const std::int32_t id : ids) pieces.push_back(stream.push(id));
    QVERIFY(pieces.size() >= 5);
    for (std::size_t i = pieces.size() - 4; i + 1 < pieces.size(); ++i) QVERIFY(pieces[i].empty());
    QCOMPARE(pieces.back(), std::string("\U00010348"));
    stream.push(ids[ids.size() - 4]);
    QCOMPARE(stream.finish(), std::string("\xEF\xBF\xBD"));
    QCOMPARE(stream.finish(), std::string());
  }

  /// Merges of long pieces must not take quadratic time, and must equal those of short ones.
  void longWords() {
    const Tokenizer tokenizer = valueOrThrow(load(golden("llama2")));
    std::string text;
    Random random(1);
    while (text.size() < 1'000'000) text.push_back("abcdefghij aeiou"[random.below(16)]);
    QElapsedTimer timer;
    timer.start();
    const auto ids = valueOrThrow(tokenizer.encode(text, false));
    QVERIFY2(timer.elapsed() < 60000, "a word of 1 MB took more than a minute");
    QCOMPARE(tokenizer.decode(ids, true), text);
    const auto same = valueOrThrow(tokenizer.encode(std::string(1'000'000, 'a'), false));
    QCOMPARE(tokenizer.decode(same, true), std::string(1'000'000, 'a'));
  }

  /// Pieces around the lengths where the method of merging and what is remembered change, against merging by the
  /// definition; the second time they are remembered, if they ever are.
  void mergesEqualTheDefinition() {
    const std::vector<Merge> merges = {{"a", "b"}, {"b", "c"},  {"ab", "c"}, {"a", "a"},     {"aa", "aa"},
                                       {"c", "a"}, {"bc", "a"}, {"ca", "b"}, {"abc", "abc"}, {"b", "b"}};
    const Tokenizer tokenizer = valueOrThrow(load(smallFile({"a", "b", "c"}, merges)));
    Random random(2);
    for (int round = 0; round < 2000; ++round) {
      std::vector<std::string> characters;
      for (std::uint64_t n = 1 + random.below(round % 8 == 0 ? 150 : 60); n > 0; --n)
        characters.emplace_back(1, "abc"[random.below(3)]);
      const std::string text = joined(characters);
      const std::vector<std::string> expected = mergedByDefinition(characters, merges);
      QVERIFY(tokensOf(tokenizer, text) == expected);
      QVERIFY(tokensOf(tokenizer, text) == expected);
    }
  }

  /// A text in one piece is cut where no merge reaches over; whatever merges there are, between words, bytes and what
  /// is not ASCII, that changes nothing.
  void cutsEqualTheDefinition() {
    const std::vector<std::string> alphabet = {"a", ".", "\xE2\x96\x81", "\xC3\xA9", "<0x0A>"};
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      Random random(seed);
      std::vector<std::string> tokens = alphabet;
      std::vector<Merge> merges;
      const auto any = [&](const std::vector<std::string>& from) { return from[random.below(from.size())]; };
      for (int i = 0; i < 8; ++i) {
        const Merge merge{any(tokens), any(tokens)};
        const std::string token = merge.first + merge.second;
        if (std::find(tokens.begin(), tokens.end(), token) != tokens.end()) continue;
        tokens.push_back(token);
        merges.push_back(merge);
      }
      Json file = smallFile(alphabet, merges);
      file["model"]["byte_fallback"] = true;
      std::int32_t next = 100;
      for (int byte = 0; byte < 256; ++byte)
        if (const std::string token = fmt::format("<0x{:02X}>", byte); !file["model"]["vocab"].contains(token))
          file["model"]["vocab"][token] = next++;
      const Tokenizer tokenizer = valueOrThrow(load(file));
      for (int round = 0; round < 50; ++round) {
        std::vector<std::string> characters;
        for (std::uint64_t n = 1 + random.below(40); n > 0; --n) characters.push_back(any(alphabet));
        std::string text = joined(characters);
        for (std::size_t at = 0; (at = text.find("<0x0A>")) != std::string::npos;) text.replace(at, 6, "\n");
        QVERIFY2(tokensOf(tokenizer, text) == mergedByDefinition(characters, merges),
                 fmt::format("seed {}: '{}'", seed, text).c_str());
      }
    }
  }

  void aTextGrowsWithinBounds_data() {
    QTest::addColumn<QString>("normalizer");
    QTest::newRow("a text") << R"({"type": "Replace", "pattern": {"String": "a"}, "content": "%1"})";
    QTest::newRow("a pattern") << R"({"type": "Replace", "pattern": {"Regex": "a"}, "content": "%1"})";
    QTest::newRow("again and again") << R"({"type": "Sequence", "normalizers": [%2]})";
  }
  void aTextGrowsWithinBounds() {
    QFETCH(QString, normalizer);
    normalizer.replace("%1", QString(1000, 'b'));
    normalizer.replace(
        "%2", QStringList(40, R"({"type": "Replace", "pattern": {"String": "a"}, "content": "aa"})").join(','));
    Json file = smallFile({"a", "b"}, {});
    file["normalizer"] = Json::parse(normalizer.toStdString());
    const Tokenizer tokenizer = valueOrThrow(load(file));
    const auto refused = tokenizer.encode(std::string(100'000, 'a'), false);
    QVERIFY(!refused);
    QVERIFY2(refused.error().message.find("64 times") != std::string::npos, refused.error().message.c_str());
  }

  void unknownCharacters() {
    Json file = smallFile({"a", "b"}, {{"a", "b"}});
    QVERIFY(tokensOf(valueOrThrow(load(file)), "aXYb") == (std::vector<std::string>{"ab"})); // dropped
    file["model"]["unk_token"] = "<unk>";
    QVERIFY(tokensOf(valueOrThrow(load(file)), "aXYb") == (std::vector<std::string>{"a", "<unk>", "<unk>", "b"}));
    file["model"]["fuse_unk"] = true;
    QVERIFY(tokensOf(valueOrThrow(load(file)), "aXYb") == (std::vector<std::string>{"a", "<unk>", "b"}));
  }

  void lookups() {
    const Tokenizer tokenizer = valueOrThrow(load(golden("llama3")));
    QCOMPARE(tokenizer.idOf("<|begin_of_text|>"), std::optional<std::int32_t>(0));
    QCOMPARE(tokenizer.beginOfText(), std::optional<std::int32_t>(0));
    QCOMPARE(tokenizer.endOfText(), std::optional<std::int32_t>(1));
    QVERIFY(tokenizer.isSpecial(1) && !tokenizer.isSpecial(100) && !tokenizer.isSpecial(-1) &&
            !tokenizer.isSpecial(1 << 30));
    QVERIFY(!tokenizer.token(-1) && !tokenizer.token(static_cast<std::int32_t>(tokenizer.vocabularySize())));
    QVERIFY(!tokenizer.idOf("no such token at all"));
    QCOMPARE(tokenizer.tokenBytes(1), 0);
    QVERIFY(tokenizer.worksByLine());
    QVERIFY(!valueOrThrow(load(golden("llama2"))).worksByLine());
    QCOMPARE(valueOrThrow(load(golden("gpt2"))).vocabularySize(), std::int64_t{1202});
    QVERIFY(valueOrThrow(load(golden("gpt2"))).fingerprint() != tokenizer.fingerprint());
  }

  void byteFallbackTokenBytes() {
    const Tokenizer tokenizer = valueOrThrow(load(golden("llama2")));
    QCOMPARE(tokenizer.tokenBytes(*tokenizer.idOf("<0xE2>")), 1);
    QCOMPARE(tokenizer.tokenBytes(*tokenizer.idOf("\u2581")), 1);
    QCOMPARE(tokenizer.tokenBytes(*tokenizer.idOf("in")), 2);
  }

  /// Where worksByLine() holds, parts cut behind single line feeds give the ids of the whole.
  void lineCutsChangeNothing_data() {
    QTest::addColumn<QString>("kind");
    for (const char* kind : {"llama3", "qwen2", "digits"}) QTest::newRow(kind) << QString(kind);
  }
  void lineCutsChangeNothing() {
    QFETCH(QString, kind);
    const Tokenizer tokenizer = valueOrThrow(load(golden(kind.toStdString())));
    QVERIFY(tokenizer.worksByLine());
    for (const Json& testCase : valueOrThrow(parseJson(
             [&] {
               LocalFileSystem files;
               return valueOrThrow(
                   readTextFile(files, Path(MILLRACE_TEST_DATA) / "tokenizers" / kind.toStdString() / "cases.json"));
             }(),
             "cases"))) {
      const std::string text = testCase["text"].get<std::string>();
      if (text.empty() || text.size() > 2000) continue;
      const auto plain = [](unsigned char c) { return c > 0x20 && c < 0x7F; };
      for (std::size_t i = 1; i + 1 < text.size(); ++i) {
        if (text[i] != '\n' || !plain(static_cast<unsigned char>(text[i - 1])) ||
            !plain(static_cast<unsigned char>(text[i + 1])))
          continue;
        std::vector<std::int32_t> ids;
        QVERIFY(tokenizer.encode(text.substr(0, i + 1), false, ids));
        QVERIFY(tokenizer.encode(text.substr(i + 1), false, ids));
        QVERIFY(ids == valueOrThrow(tokenizer.encode(text, false)));
      }
    }
  }

  void threadsAgree() {
    const Tokenizer tokenizer = valueOrThrow(load(golden("qwen2")));
    const Json cases = valueOrThrow(parseJson(
        [] {
          LocalFileSystem files;
          return valueOrThrow(readTextFile(files, Path(MILLRACE_TEST_DATA) / "tokenizers/qwen2/cases.json"));
        }(),
        "cases"));
    ThreadPool pool(4);
    std::atomic<int> wrong = 0;
    pool.parallelFor(static_cast<std::int64_t>(cases.size()) * 4, [&](std::int64_t i) {
      const Json& testCase = cases[static_cast<std::size_t>(i) % cases.size()];
      const auto ids = tokenizer.encode(testCase["text"].get_ref<const std::string&>(), true);
      if (!ids || *ids != testCase["ids"].get<std::vector<std::int32_t>>()) ++wrong;
    });
    QCOMPARE(wrong.load(), 0);
  }
};

QTEST_GUILESS_MAIN(TestTokenizer)
#include "test_tokenizer.moc"
