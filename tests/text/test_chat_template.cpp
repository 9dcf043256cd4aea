// Chat templates: where they come from, and what assistants say in what they render.
#include "text/chat_template.h"

#include <QtTest>
#include <fmt/format.h>

using namespace millrace;

namespace {

Json message(const std::string& role, const Json& content) {
  return {{"role", role}, {"content", content}};
}

Json conversation(std::initializer_list<std::pair<const char*, const char*>> turns) {
  Json messages = Json::array();
  for (const auto& [role, content] : turns) messages.push_back(message(role, content));
  return {{"messages", messages}, {"bos_token", "<s>"}, {"eos_token", "</s>"}};
}

/// What assistants say, with | between.
QString said(const RenderedChat& chat) {
  QStringList parts;
  for (const auto& range : chat.assistant)
    parts << QString::fromStdString(chat.text.substr(range.begin, range.end - range.begin));
  return parts.join('|');
}

// Cuts thoughts off all but the last turns and writes an empty one where there is none, as reasoning models do.
const char* const thinking = R"({%- for m in messages -%}
{%- if m.role == 'assistant' -%}
{%- set thought = m.content.split('</think>')[0].split('<think>')[-1] if '</think>' in m.content else '' -%}
{%- set answer = m.content.split('</think>')[-1].lstrip('\n') -%}
<|im_start|>assistant
{{ '<think>\n' ~ thought.strip('\n') ~ '\n</think>\n\n' if loop.last }}{{ answer }}<|im_end|>
{% else -%}
<|im_start|>{{ m.role }}
{{ m.content }}<|im_end|>
{% endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
<|im_start|>assistant
{{ '<think>\n\n</think>\n\n' if enable_thinking is defined and enable_thinking is false }}
{%- endif -%})";

const char* const marked =
    "{% for m in messages %}<{{ m.role }}>{% if m.role == 'assistant' %}{% generation %}{{ m.content }}{{ eos_token }}"
    "{% endgeneration %}{% else %}{{ m.content }}{% endif %}\n{% endfor %}";

} // namespace

class TestChatTemplate : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void findsWhatAssistantsSay_data() {
    QTest::addColumn<QString>("source"); ///< the template, or "built-in NAME"
    QTest::addColumn<QString>("expected");
    QTest::newRow("chatml") << "built-in chatml"
                            << "Hello!<|im_end|>|Fine.<|im_end|>";
    QTest::newRow("llama3") << "built-in llama3"
                            << "Hello!<|eot_id|>|Fine.<|eot_id|>";
    QTest::newRow("llama2") << "built-in llama2"
                            << " Hello! </s>| Fine. </s>";
    QTest::newRow("plain") << "built-in plain"
                           << "Hello!</s>|Fine.</s>";
    QTest::newRow("generation tags") << marked << "Hello!</s>|Fine.</s>";
    QTest::newRow("reasoning") << thinking << QString("Hello!<|im_end|>|<think>\n\n</think>\n\nFine.<|im_end|>");
    QTest::newRow("no closing token") << "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}{% if "
                                         "add_generation_prompt %}assistant:{% endif %}"
                                      << " Hello!\n| Fine.\n";
    QTest::newRow("no prompt at all") << "{% for m in messages %}[{{ m.role }}]{{ m.content }}[/]{% endfor %}"
                                      << "[assistant]Hello![/]|[assistant]Fine.[/]";
    QTest::newRow("end only at the very end")
        << "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% if loop.last %}</s>{% else %}\n{% endif %}{% endfor "
           "%}{% if add_generation_prompt %}<assistant>{% endif %}"
        << "Hello!|Fine.</s>";
    QTest::newRow("a count in front")
        << "{{ messages | length }}{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
        << "Hello!|Fine.";
    QTest::newRow("another end behind the last turn's own")
        << "{% for m in messages %}<|{{ m.role }}|>\n{{ m.content }}<|end|>\n{% endfor %}{% if add_generation_prompt "
           "%}<|assistant|>\n{% else %}<|endoftext|>{% endif %}"
        << "Hello!<|end|>|Fine.<|end|>\n<|endoftext|>";
    QTest::newRow("marks that begin alike")
        << "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% if loop.last %}<|eos|>{% else %}<|end|>{% endif "
           "%}{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
        << "Hello!|Fine.<|eos|>";
    QTest::newRow("a prompt that begins a thought")
        << "{% for m in messages %}<{{ m.role }}>{% if m.role == 'assistant' %}<thought/>{% endif %}{{ m.content "
           "}}<e>{% endfor %}{% if add_generation_prompt %}<assistant><think>{% endif %}"
        << "<thought/>Hello!<e>|<thought/>Fine.<e>";
    QTest::newRow("closed by a token without white space")
        << "{% for m in messages %}<{{ m.role }}>{{ m.content }}<e>{% endfor %}{% if add_generation_prompt "
           "%}<assistant>{% endif %}"
        << "Hello!<e>|Fine.<e>";
  }
  void findsWhatAssistantsSay() {
    QFETCH(QString, source);
    QFETCH(QString, expected);
    const auto made = source.startsWith("built-in ") ? ChatTemplate::builtIn(source.mid(9).toStdString())
                                                     : ChatTemplate::parse(source.toStdString(), "a template");
    QVERIFY2(made.has_value(), made ? "" : made.error().message.c_str());
    const auto chat = made->renderForTraining(
        conversation({{"user", "Hi"}, {"assistant", "Hello!"}, {"user", "How are you?"}, {"assistant", "Fine."}}));
    QVERIFY2(chat.has_value(), chat ? "" : chat.error().message.c_str());
    QCOMPARE(said(*chat), expected);
  }

  void tellsWhatEndsATurn_data() {
    QTest::addColumn<QString>("source");
    QTest::addColumn<QString>("expected");
    QTest::newRow("chatml") << "built-in chatml"
                            << "<|im_end|>";
    QTest::newRow("llama3") << "built-in llama3"
                            << "<|eot_id|>";
    QTest::newRow("a letter in front of the mark") << "{% for m in messages %}{{ m.content }} ##\n{% endfor %}"
                                                   << "##";
    QTest::newRow("nothing") << "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
                             << "";
    QTest::newRow("what is said is changed") << "{% for m in messages %}{{ m.content | upper }}<e>{% endfor %}"
                                             << "";
    QTest::newRow("refuses") << "{{ raise_exception('no') }}"
                             << "";
  }
  void tellsWhatEndsATurn() {
    QFETCH(QString, source);
    QFETCH(QString, expected);
    const auto made = source.startsWith("built-in ") ? ChatTemplate::builtIn(source.mid(9).toStdString())
                                                     : ChatTemplate::parse(source.toStdString(), "a template");
    QVERIFY2(made.has_value(), made ? "" : made.error().message.c_str());
    QCOMPARE(QString::fromStdString(made->turnEnd()), expected);
  }

  /// The turn begins where the prompt that generation starts from ends.
  void beginsBehindThePrompt_data() {
    QTest::addColumn<QString>("name");
    for (const std::string& name : ChatTemplate::builtInNames())
      QTest::newRow(name.c_str()) << QString::fromStdString(name);
  }
  void beginsBehindThePrompt() {
    QFETCH(QString, name);
    const auto made = ChatTemplate::builtIn(name.toStdString());
    QVERIFY(made);
    Json all =
        conversation({{"system", "Be \u00e9\u4f60."}, {"user", "Hi \U0001F600"}, {"assistant", "  Hello \u00e9! "}});
    const auto chat = made->renderForTraining(all);
    QVERIFY2(chat.has_value(), chat ? "" : chat.error().message.c_str());
    QCOMPARE(chat->assistant.size(), std::size_t{1});
    all["messages"].erase(2);
    all["add_generation_prompt"] = true;
    const auto prompt = made->render(all);
    QVERIFY(prompt);
    QCOMPARE(QString::fromStdString(chat->text.substr(0, chat->assistant[0].begin)),
             QString::fromStdString(prompt->text));
    QVERIFY(said(*chat).contains(QString::fromUtf8("Hello \u00e9!")));
  }

  void toolCallsAreSaid() {
    const auto made = ChatTemplate::parse("{% for m in messages %}<{{ m.role }}>{{ m.content if m.content }}{% for c "
                                          "in m.tool_calls or [] %}<call>{{ c | tojson }}</call>{% endfor %}<end>\n"
                                          "{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}",
                                          "a template");
    QVERIFY(made);
    Json all = conversation({{"user", "2+2"}});
    all["messages"].push_back({{"role", "assistant"}, {"content", nullptr}, {"tool_calls", {{{"name", "add"}}}}});
    all["messages"].push_back(message("tool", "4"));
    all["messages"].push_back(message("assistant", "It is 4."));
    const auto chat = made->renderForTraining(all);
    QVERIFY2(chat.has_value(), chat ? "" : chat.error().message.c_str());
    QCOMPARE(said(*chat), QString("<call>{\"name\": \"add\"}</call><end>|It is 4.<end>"));
  }

  /// A call of a tool, in a template that writes the last turn differently from those before it.
  void toolCallsAmongThoughts() {
    const auto made = ChatTemplate::parse(
        "{% for m in messages %}<{{ m.role }}>{% if m.role == 'assistant' and loop.last %}<think></think>{% endif %}"
        "{{ m.content }}{% for c in m.tool_calls or [] %}{{ '\n' if m.content }}<call>{{ c.name }}</call>{% endfor %}"
        "<end>\n{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}",
        "a template");
    QVERIFY(made);
    Json all = conversation({{"user", "2+2"}});
    for (const char* content : {"", "I add."}) {
      all["messages"].push_back(
          {{"role", "assistant"}, {"content", content}, {"tool_calls", {{{"name", "add"}}, {{"name", "sub"}}}}});
      all["messages"].push_back(message("tool", "4"));
    }
    all["messages"].push_back(message("assistant", "It is 4."));
    const auto chat = made->renderForTraining(all);
    QVERIFY2(chat.has_value(), chat ? "" : chat.error().message.c_str());
    QCOMPARE(said(*chat),
             QString("<call>add</call><call>sub</call><end>|I add.\n<call>add</call>\n<call>sub</call><end>|"
                     "<think></think>It is 4.<end>"));
  }

  void anAssistantMaySpeakFirst() {
    const auto made = ChatTemplate::builtIn("chatml");
    QVERIFY(made);
    const auto chat =
        made->renderForTraining(conversation({{"assistant", "Welcome."}, {"user", "Hi"}, {"assistant", ""}}));
    QVERIFY2(chat.has_value(), chat ? "" : chat.error().message.c_str());
    QCOMPARE(said(*chat), QString("Welcome.<|im_end|>|<|im_end|>"));
  }

  void saysWhenItCannotTell() {
    const auto made = ChatTemplate::parse(
        "{{ messages | length }}{% for m in messages %}<{{ m.role }}>{{ m.content | length }}{% endfor %}",
        "counting.jinja");
    QVERIFY(made);
    const auto chat = made->renderForTraining(conversation({{"user", "Hi"}, {"assistant", "Hello!"}, {"user", "Bye"}}));
    QVERIFY(!chat);
    const QString text = QString::fromStdString(chat.error().message);
    for (const char* word : {"counting.jinja", "message 2", "generation"})
      QVERIFY2(text.contains(word), qPrintable(text));
    QCOMPARE(int(chat.error().kind), int(ErrorKind::BadInput));
  }

  /// Turns are found by rendering beginnings of the conversation, which takes time in the square of its length.
  void aVeryLongConversationIsRefused() {
    const ChatTemplate chat = valueOrThrow(ChatTemplate::builtIn("chatml"));
    Json messages = Json::array();
    const auto rendered = [&](int turns, std::size_t words) {
      messages = Json::array();
      for (int i = 0; i < turns; ++i)
        messages.push_back({{"role", i % 2 == 0 ? "user" : "assistant"}, {"content", std::string(words, 'w')}});
      return chat.renderForTraining({{"messages", messages}});
    };
    const auto many = rendered(200, 500);
    QVERIFY(many && many->assistant.size() == 100);
    const auto tooMany = rendered(1000, 5000);
    QVERIFY(!tooMany && tooMany.error().message.find("too long for that: 1000 messages") != std::string::npos);
  }

  void refusesWhatIsNoConversation_data() {
    QTest::addColumn<QByteArray>("variables");
    QTest::newRow("no object") << QByteArray("[]");
    QTest::newRow("no messages") << QByteArray("{}");
    QTest::newRow("messages are no list") << QByteArray("{\"messages\":5}");
    QTest::newRow("the template says no") << QByteArray("{\"messages\":[{\"role\":\"wizard\",\"content\":\"x\"}]}");
    QTest::newRow("no role") << QByteArray("{\"messages\":[{\"content\":\"x\"}]}");
    QTest::newRow("a message that is none") << QByteArray("{\"messages\":[7]}");
  }
  void refusesWhatIsNoConversation() {
    QFETCH(QByteArray, variables);
    const auto made = ChatTemplate::builtIn("llama2");
    QVERIFY(made);
    const auto chat = made->renderForTraining(Json::parse(variables.toStdString()));
    QVERIFY(!chat);
    QVERIFY(QString::fromStdString(chat.error().message).startsWith("built-in chat template llama2"));
  }

  void rangesAreJoined() {
    const auto made = ChatTemplate::parse("{% generation %}ab{% generation %}cd{% endgeneration %}{% endgeneration "
                                          "%}x{% generation %}{% endgeneration %}",
                                          "nested");
    QVERIFY(made);
    const auto chat = made->renderForTraining(conversation({}));
    QVERIFY(chat);
    QCOMPARE(said(*chat), QString("abcd")); // an inner tag counts from where the outer one began
  }

  void theDayIsAlwaysTheSame() {
    const auto chat = valueOrThrow(ChatTemplate::parse(
        "{{ strftime_now('%d %b %Y') }}{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}", "dated"));
    const Json talk = conversation({{"user", "Hi"}, {"assistant", "Hello!"}});
    const RenderedChat rendered = valueOrThrow(chat.renderForTraining(talk));
    QCOMPARE(rendered.text, std::string("26 Jul 2024<user>Hi<assistant>Hello!"));
    QCOMPARE(valueOrThrow(chat.renderText(talk)), rendered.text);
  }
};

QTEST_GUILESS_MAIN(TestChatTemplate)
#include "test_chat_template.moc"
