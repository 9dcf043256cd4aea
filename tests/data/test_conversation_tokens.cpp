// Conversations as tokens: what is learnt, and what becomes of long ones.
#include "data/conversation_tokens.h"

#include <QtTest>

using namespace millrace;

namespace {

Tokenizer tokenizerOf(const char* kind) {
  LocalFileSystem files;
  return valueOrThrow(Tokenizer::load(files, Path(MILLRACE_TEST_DATA) / "tokenizers" / kind / "tokenizer.json"));
}

Conversation conversation(const std::vector<std::pair<std::string, std::string>>& turns) {
  Conversation result;
  result.variables["messages"] = Json::array();
  for (const auto& [role, content] : turns) {
    result.variables["messages"].push_back({{"role", role}, {"content", content}});
    result.learnable.push_back(true);
  }
  return result;
}

const Conversation greeting = conversation(
    {{"system", "Be brief."}, {"user", "Hello?"}, {"assistant", "Hi!"}, {"user", "More"}, {"assistant", "Yes."}});

struct Setup {
  LearnFrom learn = LearnFrom::Assistant;
  OverLong overLong = OverLong::Truncate;
  std::int64_t context = 1000;
  std::string builtIn = "chatml";
};

ConversationTokens tokensOf(const Tokenizer& tokenizer, const Setup& setup) {
  LocalFileSystem files;
  ChatSpec spec;
  spec.chatTemplate.builtIn = setup.builtIn;
  spec.learn = setup.learn;
  spec.overLong = setup.overLong;
  spec.context = setup.context;
  return valueOrThrow(ConversationTokens::create(files, spec, tokenizer));
}

QString textOf(const Tokenizer& tokenizer, std::span<const std::int32_t> ids) {
  return QString::fromStdString(tokenizer.decode(ids, false));
}

/// What is learnt, with | between.
QString learnt(const Tokenizer& tokenizer, const TokenizedDocument& document) {
  if (document.facts.wholeLearnt) return "(all) " + textOf(tokenizer, document.ids);
  QStringList parts;
  for (const TokenRange& range : document.facts.learnt)
    parts << textOf(tokenizer, std::span(document.ids).subspan(range.begin, range.end - range.begin));
  return parts.join('|');
}

} // namespace

class TestConversationTokens : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void whatAssistantsSayIsLearnt_data() {
    QTest::addColumn<QString>("kind");
    QTest::addColumn<QString>("builtIn");
    QTest::addColumn<int>("learn");
    QTest::addColumn<QString>("expected");
    const auto row = [](const char* name, const char* kind, const char* builtIn, LearnFrom learn,
                        const char* expected) {
      QTest::newRow(name) << kind << builtIn << static_cast<int>(learn) << expected;
    };
    row("control tokens", "qwen2", "chatml", LearnFrom::Assistant, "Hi!<|im_end|>|Yes.<|im_end|>");
    row("marks that are plain text", "gpt2", "chatml", LearnFrom::Assistant, "Hi!<|im_end|>|Yes.<|im_end|>");
    row("llama3", "llama3", "llama3", LearnFrom::Assistant, "Hi!<|eot_id|>|Yes.<|eot_id|>");
    row("the last turn", "qwen2", "chatml", LearnFrom::Last, "Yes.<|im_end|>");
    row("everything", "qwen2", "chatml", LearnFrom::All,
        "(all) <|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHello?<|im_end|>\n<|im_start|>assistant\n"
        "Hi!<|im_end|>\n<|im_start|>user\nMore<|im_end|>\n<|im_start|>assistant\nYes.<|im_end|>\n");
  }
  void whatAssistantsSayIsLearnt() {
    QFETCH(QString, kind);
    QFETCH(QString, builtIn);
    QFETCH(int, learn);
    QFETCH(QString, expected);
    const Tokenizer tokenizer = tokenizerOf(kind.toLatin1());
    const ConversationTokens tokens =
        tokensOf(tokenizer, {static_cast<LearnFrom>(learn), OverLong::Truncate, 1000, builtIn.toStdString()});
    ConversationCounts counts;
    const auto documents = tokens.tokenize(greeting, counts);
    QVERIFY2(documents, documents ? "" : documents.error().message.c_str());
    QCOMPARE(documents->size(), 1);
    QCOMPARE(learnt(tokenizer, documents->front()), expected);
    QVERIFY(counts == ConversationCounts{});
    // The ids are those of the text as a whole.
    const std::string text = valueOrThrow(tokens.chatTemplate().renderText(greeting.variables));
    QVERIFY(documents->front().ids == valueOrThrow(tokenizer.encode(text, false)));
    QCOMPARE(documents->front().facts.textBytes, text.size());
  }

  void marksWithoutTokenAreNamed() {
    using Marks = std::vector<std::string>;
    const Tokenizer gpt2 = tokenizerOf("gpt2"), qwen2 = tokenizerOf("qwen2"), llama3 = tokenizerOf("llama3");
    QVERIFY(tokensOf(gpt2, {}).marksWithoutToken() == (Marks{"<|im_start|>", "<|im_end|>"}));
    QVERIFY(tokensOf(qwen2, {}).marksWithoutToken().empty());
    QVERIFY(tokensOf(llama3, {.builtIn = "llama3"}).marksWithoutToken().empty());
    QVERIFY(tokensOf(qwen2, {.builtIn = "llama2"}).marksWithoutToken() == Marks{"<s>"});
    QVERIFY(tokensOf(gpt2, {.builtIn = "plain"}).marksWithoutToken().empty());
  }

  void aTurnMayAskNotToBeLearnt() {
    const Tokenizer tokenizer = tokenizerOf("qwen2");
    Conversation chat = greeting;
    chat.learnable[2] = false;
    ConversationCounts counts;
    auto documents = valueOrThrow(tokensOf(tokenizer, {}).tokenize(chat, counts));
    QCOMPARE(learnt(tokenizer, documents.front()), "Yes.<|im_end|>");
    chat.learnable[4] = false;
    documents = valueOrThrow(tokensOf(tokenizer, {}).tokenize(chat, counts));
    QVERIFY(documents.empty());
    QCOMPARE(counts.nothingLearnt, 1);
  }

  void longOnes_data() {
    QTest::addColumn<int>("overLong");
    QTest::addColumn<int>("context");
    QTest::addColumn<QStringList>("texts");   ///< of the documents
    QTest::addColumn<QStringList>("learnt");  ///< of them
    QTest::addColumn<QVector<int>>("counts"); ///< truncated, split, dropped, nothing learnt
    const QString system = "<|im_start|>system\nBe brief.<|im_end|>\n",
                  first = "<|im_start|>user\nHello?<|im_end|>\n<|im_start|>assistant\nHi!<|im_end|>\n",
                  second = "<|im_start|>user\nMore<|im_end|>\n<|im_start|>assistant\nYes.<|im_end|>\n";
    const Tokenizer tokenizer = tokenizerOf("qwen2");
    const auto tokens = [&](const QString& text) {
      return static_cast<int>(valueOrThrow(tokenizer.encode(text.toStdString(), false)).size());
    };
    const int whole = tokens(system + first + second), half = std::max(tokens(system + first), tokens(system + second));
    QVERIFY(half < whole);
    QTest::newRow("just fits") << 0 << whole << QStringList{system + first + second}
                               << QStringList{"Hi!<|im_end|>|Yes.<|im_end|>"} << QVector<int>{0, 0, 0, 0};
    QTest::newRow("truncated by the line feed")
        << 0 << whole - 1 << QStringList{(system + first + second).chopped(1)}
        << QStringList{"Hi!<|im_end|>|Yes.<|im_end|>"} << QVector<int>{1, 0, 0, 0};
    QTest::newRow("truncated inside the turn") << 0 << whole - 2 << QStringList{(system + first + second).chopped(11)}
                                               << QStringList{"Hi!<|im_end|>|Yes."} << QVector<int>{1, 0, 0, 0};
    QTest::newRow("truncated to nothing learnt")
        << 0 << tokens(system) << QStringList{} << QStringList{} << QVector<int>{1, 0, 0, 1};
    QTest::newRow("dropped") << 2 << whole - 1 << QStringList{} << QStringList{} << QVector<int>{0, 0, 1, 0};
    QTest::newRow("split") << 1 << half << QStringList{system + first, system + second}
                           << QStringList{"Hi!<|im_end|>", "Yes.<|im_end|>"} << QVector<int>{0, 1, 0, 0};
    QTest::newRow("split and truncated") << 1 << tokens(system) + 3 << QStringList{} << QStringList{}
                                         << QVector<int>{2, 1, 0, 1};
  }
  void longOnes() {
    QFETCH(int, overLong);
    QFETCH(int, context);
    QFETCH(QStringList, texts);
    QFETCH(QStringList, learnt);
    QFETCH(QVector<int>, counts);
    const Tokenizer tokenizer = tokenizerOf("qwen2");
    const ConversationTokens tokens =
        tokensOf(tokenizer, {LearnFrom::Assistant, static_cast<OverLong>(overLong), context, "chatml"});
    ConversationCounts met;
    const auto documents = valueOrThrow(tokens.tokenize(greeting, met));
    QStringList gotTexts, gotLearnt;
    for (const TokenizedDocument& document : documents) {
      QVERIFY(static_cast<int>(document.ids.size()) <= context);
      QCOMPARE(document.facts.hash, documents.front().facts.hash);
      gotTexts << textOf(tokenizer, document.ids);
      gotLearnt << ::learnt(tokenizer, document);
    }
    QCOMPARE(gotTexts, texts);
    QCOMPARE(gotLearnt, learnt);
    QCOMPARE((QVector<int>{int(met.truncated), int(met.split), int(met.dropped), int(met.nothingLearnt)}), counts);
  }

  /// A long conversation loses no turn when it is split, and its parts are as long as can be.
  void splittingKeepsEveryTurn() {
    const Tokenizer tokenizer = tokenizerOf("qwen2");
    std::vector<std::pair<std::string, std::string>> turns{{"system", "S"}};
    QStringList said;
    for (int i = 0; i < 200; ++i) {
      turns.emplace_back("user", "question " + std::to_string(i));
      const std::string answer = "answer " + std::to_string(i) + std::string(static_cast<std::size_t>(i % 40), '!');
      turns.emplace_back("assistant", answer);
      said << QString::fromStdString(answer) + "<|im_end|>";
    }
    const Conversation chat = conversation(turns);
    const ConversationTokens tokens = tokensOf(tokenizer, {LearnFrom::Assistant, OverLong::Split, 300, "chatml"});
    ConversationCounts counts;
    const auto documents = valueOrThrow(tokens.tokenize(chat, counts));
    QStringList got;
    std::size_t shortOnes = 0;
    for (const TokenizedDocument& document : documents) {
      got << learnt(tokenizer, document).split('|');
      QVERIFY(document.ids.size() <= 300);
      if (document.ids.size() < 200) ++shortOnes; // another turn would have found room
      QVERIFY(textOf(tokenizer, document.ids).startsWith("<|im_start|>system\nS<|im_end|>\n<|im_start|>user\n"));
    }
    // "<|im_end|>" holds the sign that stands between parts.
    QCOMPARE(got.join('|'), said.join('|'));
    QVERIFY(shortOnes <= 1);
    QCOMPARE(counts.truncated, 0);
  }

  void withoutATemplateTheErrorSaysWhatToSet() {
    const Tokenizer tokenizer = tokenizerOf("gpt2");
    LocalFileSystem files;
    for (const Path& model : {Path(), Path(MILLRACE_TEST_DATA) / "tokenizers/gpt2"}) {
      ChatSpec spec;
      spec.chatTemplate.model = model;
      const auto made = ConversationTokens::create(files, spec, tokenizer);
      QVERIFY(!made);
      QVERIFY2(made.error().message.find("chatml, llama3, llama2, plain (data.chat.built_in)") != std::string::npos,
               made.error().message.c_str());
      QCOMPARE(made.error().key, std::string("data.chat.built_in"));
    }
  }

  void whatTheTemplateRefusesIsAProblemOfTheRow() {
    const Tokenizer tokenizer = tokenizerOf("llama2");
    ConversationCounts counts;
    const auto documents = tokensOf(tokenizer, {LearnFrom::Assistant, OverLong::Truncate, 100, "llama2"})
                               .tokenize(conversation({{"tool", "x"}}), counts);
    QVERIFY(!documents);
    QVERIFY2(documents.error().message.find("knows the roles system, user and assistant, not tool") !=
                 std::string::npos,
             documents.error().message.c_str());
  }
};

QTEST_GUILESS_MAIN(TestConversationTokens)
#include "test_conversation_tokens.moc"
