// Sources of every format, prepared for training: what their targets are, when the cache is used, and what is an error.
#include "data/conversation.h"
#include "data/conversation_tokens.h"
#include "data/dataset.h"
#include "data/source_text.h"

#include <QTemporaryDir>
#include <QtTest>

using namespace millrace;
using namespace millrace::test;

namespace {

const std::string asked = "What is 2 + 2?", answered = "It is 4.";

std::string messagesRowOf(const Json& messages) {
  return Json{{"messages", messages}}.dump() + "\n";
}

const std::string messagesRow =
    messagesRowOf({{{"role", "user"}, {"content", asked}}, {{"role", "assistant"}, {"content", answered}}});

} // namespace

class TestPreparedSources : public QObject {
  Q_OBJECT

  LocalFileSystem m_files;
  QTemporaryDir m_folder;
  ThreadPool m_pool{2};
  Log m_log;
  std::optional<Tokenizer> m_tokenizer;

  Path at(const std::string& name) const { return Path(m_folder.path().toStdString()) / name; }
  DataSpec specOf(const std::string& name, const std::string& bytes, SourceFormat how = {}) {
    writeFile(m_files, at(name), bytes);
    DataSpec spec;
    spec.sources = {{at(name).string(), std::move(how)}};
    spec.validationFraction = 0;
    spec.cacheDirectory = at("cache");
    spec.chat.chatTemplate.builtIn = "chatml";
    return spec;
  }
  Result<Dataset> prepare(const DataSpec& spec) { return prepareDataset(m_files, m_pool, m_log, spec, *m_tokenizer); }
  QString errorOf(const DataSpec& spec) {
    const auto dataset = prepare(spec);
    return dataset ? "no error" : QString::fromStdString(dataset.error().message);
  }
  /// The targets of the first row.
  QString targetsOf(const Dataset& dataset, std::int64_t context) {
    const auto source = valueOrThrow(dataset.trainingSource(context, 1));
    const MicroBatch batch = valueOrThrow(source->next(1));
    QString text;
    for (std::size_t i = 0; i < batch.targets.size(); ++i)
      if (batch.targets[i] >= 0)
        text += QString::fromStdString(m_tokenizer->decode(std::span(batch.targets).subspan(i, 1), false));
    return text;
  }

 private Q_SLOTS:
  void initTestCase() {
    m_tokenizer = valueOrThrow(Tokenizer::load(m_files, Path(MILLRACE_TEST_DATA) / "tokenizers/qwen2/tokenizer.json"));
  }

  void everyFormatGivesTheSameTargets_data() {
    QTest::addColumn<QString>("name");
    QTest::addColumn<QByteArray>("bytes");
    const auto row = [](const char* name, const std::string& bytes) {
      QTest::newRow(name) << QString(name) << QByteArray::fromStdString(bytes);
    };
    const std::string shareGpt =
        Json{{"conversations", {{{"from", "human"}, {"value", asked}}, {{"from", "gpt"}, {"value", answered}}}}}.dump();
    const std::string alpaca = Json{{"instruction", asked}, {"input", ""}, {"output", answered}}.dump();
    row("messages.jsonl", messagesRow);
    row("messages.jsonl.zst", zstdFrame(messagesRow));
    row("list.json", "[\n" + messagesRow + "]");
    row("sharegpt.jsonl", shareGpt);
    row("sharegpt.json", "[" + shareGpt + "]");
    row("alpaca.json", "[" + alpaca + "]");
    row("alpaca.jsonl.zst", zstdFrame(alpaca));
  }
  void everyFormatGivesTheSameTargets() {
    QFETCH(QString, name);
    QFETCH(QByteArray, bytes);
    const auto dataset = prepare(specOf(name.toStdString(), bytes.toStdString()));
    QVERIFY2(dataset, dataset ? "" : dataset.error().message.c_str());
    QCOMPARE(dataset->summary().documents, 1);
    QCOMPARE(targetsOf(*dataset, 64), "It is 4.<|im_end|>");
  }

  void plainTextIsLearntWholly() {
    const auto dataset = prepare(specOf("a.txt.zst", zstdFrame("one\n--\ntwo"), {DataFormat::Auto, "text", "--", {}}));
    QVERIFY2(dataset, dataset ? "" : dataset.error().message.c_str());
    QCOMPARE(dataset->summary().documents, 2);
    // All but the first token of each.
    const auto tokens = [&](const char* text) { return valueOrThrow(m_tokenizer->encode(text, false)).size(); };
    QCOMPARE(static_cast<std::size_t>(dataset->summary().trainingTokens), tokens("one") + tokens("two") + 2);
  }

  /// As what a model is prompted with does. A template writes its own first token, and parts of a text that is cut
  /// have none.
  void documentsBeginAsThePromptsDo() {
    m_tokenizer = valueOrThrow(Tokenizer::load(m_files, Path(MILLRACE_TEST_DATA) / "tokenizers/llama2/tokenizer.json"));
    const auto dataset = prepare(specOf("begun.txt", "one\n--\ntwo", {DataFormat::Auto, "text", "--", {}}));
    DataSpec chats = specOf("chat.jsonl", messagesRow);
    chats.chat.chatTemplate.builtIn = "llama2";
    const auto chat = prepare(chats);
    const auto prompted = [&](const char* text) { return valueOrThrow(m_tokenizer->encode(text, true)).size(); };
    QVERIFY(prompted("one") > valueOrThrow(m_tokenizer->encode("one", false)).size());
    QVERIFY2(dataset && chat, dataset ? "" : dataset.error().message.c_str());
    // All but the first token of each is learnt, and the end of text.
    QCOMPARE(static_cast<std::size_t>(dataset->summary().trainingTokens), prompted("one") + prompted("two") + 2);
    const auto source = valueOrThrow(chat->trainingSource(64, 1));
    const MicroBatch batch = valueOrThrow(source->next(1));
    QCOMPARE(std::count(batch.tokens.begin(), batch.tokens.end(), *m_tokenizer->idOf("<s>")), std::ptrdiff_t{1});
    initTestCase();
  }

  void setsAreFiltered() {
    const auto rowOf = [](const char* set, const char* text) {
      return fmt::format("{{\"text\":\"{}\",\"meta\":{{\"pile_set_name\":\"{}\"}}}}\n", text, set);
    };
    const std::string pile = rowOf("ArXiv", "alpha") + rowOf("Github", "beta") + rowOf("ArXiv", "gamma");
    const auto all = prepare(specOf("pile.jsonl.zst", zstdFrame(pile)));
    QVERIFY(all && all->summary().documents == 3);
    const auto some = prepare(specOf("pile.jsonl.zst", zstdFrame(pile), {DataFormat::Auto, "text", "", {"ArXiv"}}));
    QVERIFY2(some, some ? "" : some.error().message.c_str());
    QCOMPARE(some->summary().documents, 2);
    QCOMPARE(some->summary().met.otherSets, 1);
    QVERIFY(some->summary().fingerprint != all->summary().fingerprint);
    const QString none = errorOf(specOf("pile.jsonl.zst", zstdFrame(pile), {DataFormat::Auto, "text", "", {"Books3"}}));
    QVERIFY2(none.contains("3 rows are all of other sets") && none.endsWith("the sets found are: ArXiv, Github"),
             qPrintable(none));
    // A tokenizer that is trained reads first, and has as much to say.
    for (const auto& [text, words] : {std::pair{pile, "the sets found are: ArXiv, Github"},
                                      {std::string("{\"text\":\"alpha\"}\n"), "no row names its set"}}) {
      const auto trained = trainTokenizer(
          m_files, m_pool, m_log, specOf("pile.jsonl.zst", zstdFrame(text), {DataFormat::Auto, "text", "", {"Books3"}}),
          {}, {}, {});
      QVERIFY(!trained);
      QVERIFY2(QString::fromStdString(trained.error().message).contains(words), trained.error().message.c_str());
    }
  }

  void tokensAreKeptByWhatDecidesThem() {
    const DataSpec spec = specOf("chat.jsonl", messagesRow);
    const std::string known = prepare(spec)->summary().fingerprint;
    QCOMPARE(prepare(spec)->summary().fingerprint, known);
    const auto isNew = [&](auto&& change) {
      DataSpec changed = spec;
      change(changed);
      const auto dataset = prepare(changed);
      return dataset && dataset->summary().fingerprint != known;
    };
    QVERIFY(isNew([](DataSpec& s) { s.chat.learn = LearnFrom::All; }));
    QVERIFY(isNew([](DataSpec& s) { s.chat.learn = LearnFrom::Last; }));
    QVERIFY(isNew([](DataSpec& s) { s.chat.context = 1025; }));
    QVERIFY(isNew([](DataSpec& s) { s.chat.overLong = OverLong::Split; }));
    QVERIFY(isNew([](DataSpec& s) { s.chat.chatTemplate.builtIn = "plain"; }));
    // Of plain text none of these.
    DataSpec text = specOf("text.jsonl", "{\"text\":\"a b\"}\n");
    const std::string plain = prepare(text)->summary().fingerprint;
    text.chat = {};
    text.chat.context = 7;
    QCOMPARE(prepare(text)->summary().fingerprint, plain);
  }

  void nothingToLearnIsAnError_data() {
    QTest::addColumn<QByteArray>("row");
    QTest::addColumn<int>("overLong");
    QTest::addColumn<QString>("part");
    QTest::newRow("nobody answers") << QByteArray(R"({"messages":[{"role":"user","content":"a"}]})") << 0
                                    << "1 conversations have no turn that is learnt from";
    QTest::newRow("no weight") << QByteArray(R"({"messages":[{"role":"assistant","content":"a","weight":0}]})") << 0
                               << "no token of the data is a target";
    QTest::newRow("cut off before the answer") << QByteArray::fromStdString(messagesRow) << 0 << "within the context";
    QTest::newRow("dropped") << QByteArray::fromStdString(messagesRow) << 2
                             << "all of the 1 conversations are longer than the context";
  }
  void nothingToLearnIsAnError() {
    QFETCH(QByteArray, row);
    QFETCH(int, overLong);
    QFETCH(QString, part);
    DataSpec spec = specOf("empty.jsonl", row.toStdString());
    spec.chat.context = 4;
    spec.chat.overLong = static_cast<OverLong>(overLong);
    const QString error = errorOf(spec);
    QVERIFY2(error.startsWith("nothing to learn: ") && error.contains(part), qPrintable(error));
  }

  void rowsThatTheTemplateRefusesAreBadRows() {
    DataSpec spec =
        specOf("tool.jsonl", messagesRow + R"({"messages":[{"role":"tool","content":"a"}]})" + "\n" + messagesRow);
    spec.chat.chatTemplate.builtIn = "llama2";
    spec.badRowLimit = 0;
    const QString error = errorOf(spec);
    QVERIFY2(error.contains("tool.jsonl:2: built-in chat template llama2") && error.contains("unusable row 1"),
             qPrintable(error));
    spec.badRowLimit = 1;
    const auto dataset = prepare(spec);
    QVERIFY(dataset);
    QCOMPARE(dataset->summary().met.badRows, 1);
    QCOMPARE(dataset->summary().documents, 2);
  }

  void conversationsNeedATemplate() {
    DataSpec spec = specOf("chat.jsonl", messagesRow);
    spec.chat.chatTemplate = {};
    const QString error = errorOf(spec);
    QVERIFY2(error.contains("no model folder with a chat template") && error.contains("data.chat.built_in"),
             qPrintable(error));
  }

  void countsAreKeptInTheCache() {
    std::string rows;
    for (int i = 0; i < 5; ++i) rows += messagesRow;
    DataSpec spec = specOf("long.jsonl", rows + R"({"messages":[{"role":"user","content":"a"}]})");
    const ConversationTokens whole = valueOrThrow(ConversationTokens::create(m_files, spec.chat, *m_tokenizer));
    ConversationCounts counts;
    const Conversation chat = valueOrThrow(readConversation(DataFormat::Messages, Json::parse(messagesRow)));
    spec.chat.context = static_cast<std::int64_t>(valueOrThrow(whole.tokenize(chat, counts)).front().ids.size()) - 2;
    const auto first = prepare(spec), second = prepare(spec);
    QVERIFY2(first && second, first ? "" : first.error().message.c_str());
    QVERIFY(first->summary().met == second->summary().met);
    QCOMPARE(first->summary().met.conversations.truncated, 5);
    QCOMPARE(first->summary().met.conversations.nothingLearnt, 1);
  }

  void tokenizersLearnFromWhatIsSaid() {
    std::string rows;
    for (int i = 0; i < 50; ++i) rows += messagesRow;
    const DataSpec spec = specOf("words.jsonl.zst", zstdFrame(rows));
    Log log;
    BpeTrainerOptions options;
    options.vocabularySize = 280;
    const auto json = trainTokenizer(m_files, m_pool, log, spec, options);
    QVERIFY2(json, json ? "" : json.error().message.c_str());
    const Tokenizer trained = valueOrThrow(Tokenizer::parse(*json, "trained"));
    QVERIFY(trained.idOf("ĠisĠ") || trained.idOf("Ġis"));
    QVERIFY(!trained.idOf("role") && !trained.idOf("im"));
  }
};

QTEST_GUILESS_MAIN(TestPreparedSources)
#include "test_prepared_sources.moc"
