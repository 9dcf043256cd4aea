// The BPE trainer: by the definition on small texts, determinism, round trips, limits.
#include "base/json_reader.h"
#include "base/random.h"
#include "text/bpe_trainer.h"
#include "text/byte_level.h"
#include "text/split_scanner.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

#include <QtTest>
#include <map>

using namespace millrace;

namespace {

std::vector<std::string> sampleTexts() {
  std::vector<std::string> texts;
  Random random(11);
  const std::vector<std::string> words = {"the", "then",   "there", "cat",           "cats",         "sat", "on",
                                          "mat", "banana", "'s",    "\u00e9t\u00e9", "\u4f60\u597d", "42",  "aaaa",
                                          "aaa", "...",    "\n"};
  for (int i = 0; i < 200; ++i) {
    std::string text;
    for (int n = 0; n < 30; ++n) text += " " + words[random.below(words.size())];
    texts.push_back(std::move(text));
  }
  return texts;
}

std::string train(const std::vector<std::string>& texts, std::int64_t size, int threads, std::size_t batch) {
  ThreadPool pool(threads);
  BpeTrainerOptions options;
  options.vocabularySize = size;
  BpeTrainer trainer = valueOrThrow(BpeTrainer::create(pool, options));
  for (std::size_t i = 0; i < texts.size(); i += batch)
    trainer.add(std::span(texts).subspan(i, std::min(batch, texts.size() - i)));
  return valueOrThrow(trainer.train());
}

/// Merges by the definition: count all pairs anew each time.
std::vector<std::pair<std::string, std::string>> mergesByDefinition(const std::vector<std::string>& texts,
                                                                    std::int64_t size) {
  std::map<std::string, std::int64_t> ids = {{"<|endoftext|>", 0}};
  std::vector<std::pair<char32_t, std::string>> alphabet;
  for (int byte = 0; byte < 256; ++byte) {
    std::string token;
    appendUtf8(byteLevelCharacter(static_cast<unsigned char>(byte)), token);
    alphabet.emplace_back(byteLevelCharacter(static_cast<unsigned char>(byte)), token);
  }
  std::sort(alphabet.begin(), alphabet.end());
  for (const auto& [character, token] : alphabet) ids.emplace(token, static_cast<std::int64_t>(ids.size()));
  std::map<std::vector<std::string>, std::int64_t> words;
  for (const std::string& text : texts)
    for (SplitScanner scanner(KnownSplit::Gpt2, text); !scanner.atEnd();) {
      std::vector<std::string> word;
      for (const char c : scanner.next()) {
        word.emplace_back();
        appendUtf8(byteLevelCharacter(static_cast<unsigned char>(c)), word.back());
      }
      ++words[word];
    }
  std::vector<std::pair<std::string, std::string>> merges;
  while (static_cast<std::int64_t>(ids.size()) < size) {
    std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> counts;
    std::map<std::pair<std::int64_t, std::int64_t>, std::pair<std::string, std::string>> names;
    for (const auto& [word, count] : words)
      for (std::size_t i = 0; i + 1 < word.size(); ++i) {
        const std::pair pair(ids[word[i]], ids[word[i + 1]]);
        counts[pair] += count;
        names[pair] = {word[i], word[i + 1]};
      }
    std::pair<std::int64_t, std::int64_t> best;
    std::int64_t most = 1;
    for (const auto& [pair, count] : counts)
      if (count > most) {
        most = count;
        best = pair;
      }
    if (most < 2) break;
    const auto [left, right] = names[best];
    merges.emplace_back(left, right);
    ids.emplace(left + right, static_cast<std::int64_t>(ids.size()));
    std::map<std::vector<std::string>, std::int64_t> next;
    for (const auto& [word, count] : words) {
      std::vector<std::string> merged;
      for (std::size_t i = 0; i < word.size(); ++i) {
        if (i + 1 < word.size() && word[i] == left && word[i + 1] == right)
          merged.push_back(left + word[++i]);
        else
          merged.push_back(word[i]);
      }
      next[merged] += count;
    }
    words = std::move(next);
  }
  return merges;
}

} // namespace

class TestBpeTrainer : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void equalsTheDefinition() {
    const auto texts = sampleTexts();
    const Json file = valueOrThrow(parseJson(train(texts, 330, 1, 200), "trained"));
    const auto merges = file["model"]["merges"].get<std::vector<std::pair<std::string, std::string>>>();
    QVERIFY(merges == mergesByDefinition(texts, 330));
    QCOMPARE(file["model"]["vocab"]["<|endoftext|>"].get<int>(), 0);
    QCOMPARE(file["model"]["vocab"]["!"].get<int>(), 1);
    QCOMPARE(file["added_tokens"][0]["content"].get<std::string>(), std::string("<|endoftext|>"));
  }

  void doesNotDependOnThreadsOrBatches() {
    const auto texts = sampleTexts();
    const std::string expected = train(texts, 320, 1, 200);
    QCOMPARE(train(texts, 320, 4, 200), expected);
    QCOMPARE(train(texts, 320, 2, 7), expected);
    auto reversed = texts;
    std::reverse(reversed.begin(), reversed.end());
    QCOMPARE(train(reversed, 320, 3, 50), expected);
  }

  void roundTrips() {
    const Tokenizer tokenizer = valueOrThrow(Tokenizer::parse(train(sampleTexts(), 320, 2, 200), "trained"));
    QVERIFY(tokenizer.vocabularySize() <= 320);
    QCOMPARE(tokenizer.endOfText(), std::optional<std::int32_t>(0));
    Random random(4);
    for (int round = 0; round < 500; ++round) {
      std::string text;
      for (std::uint64_t n = random.below(40); n > 0; --n) {
        char32_t code = static_cast<char32_t>(random.below(random.below(2) == 0 ? 0x80 : 0x110000));
        if (code >= 0xD800 && code < 0xE000) code = 'x';
        appendUtf8(code, text);
      }
      const auto ids = valueOrThrow(tokenizer.encode(text, true));
      QCOMPARE(tokenizer.decode(ids, true), text);
      std::size_t bytes = 0;
      for (const std::int32_t id : ids) bytes += static_cast<std::size_t>(tokenizer.tokenBytes(id));
      QCOMPARE(bytes, text.size());
    }
    QCOMPARE(valueOrThrow(tokenizer.encode("a<|endoftext|>", false)).back(), 0);
  }

  void byteLimitCutsTheText() {
    ThreadPool pool(1);
    BpeTrainerOptions options;
    options.vocabularySize = 300;
    options.byteLimit = 10;
    BpeTrainer trainer = valueOrThrow(BpeTrainer::create(pool, options));
    trainer.add(std::vector<std::string>{"abab", "ab \u00e9\u00e9\u00e9\u00e9 zzzz", "zzzz"});
    QVERIFY(trainer.full());
    const std::string trained = valueOrThrow(trainer.train());
    QVERIFY(!QString::fromStdString(trained).contains("[\"z\", \"z\"]"));
    QVERIFY(QString::fromStdString(trained).contains("[\"a\", \"b\"]"));
  }

  void smallTextsEndEarly() {
    const Json file = valueOrThrow(parseJson(train({"ab ab"}, 5000, 1, 1), "trained"));
    QCOMPARE(file["model"]["vocab"].size(), std::size_t{258}); // one merge: "ab" appears twice, " ab" once
  }

  void refusals() {
    ThreadPool pool(1);
    const auto kind = [&](BpeTrainerOptions options) {
      return BpeTrainer::create(pool, std::move(options)).has_value();
    };
    QVERIFY(!kind({.vocabularySize = 256}));
    QVERIFY(kind({.vocabularySize = 257}));
    QVERIFY(!kind({.vocabularySize = 300, .specialTokens = {"<a>", "<a>"}}));
    QVERIFY(!kind({.vocabularySize = 300, .specialTokens = {""}}));
    QVERIFY(!kind({.vocabularySize = 300, .byteLimit = 0}));
    QVERIFY(!valueOrThrow(BpeTrainer::create(pool, {})).train());
  }

  void canBeStopped() {
    ThreadPool pool(1);
    BpeTrainer trainer = valueOrThrow(BpeTrainer::create(pool, {.vocabularySize = 400, .minFrequency = 1}));
    trainer.add(sampleTexts());
    const auto stopped = trainer.train([](std::int64_t, std::int64_t) { return false; });
    QVERIFY(!stopped);
    QCOMPARE(int(stopped.error().kind), int(ErrorKind::Interrupted));
  }
};

QTEST_GUILESS_MAIN(TestBpeTrainer)
#include "test_bpe_trainer.moc"
