// Templates that mean harm: all of them end, soon and with an error that says why.
#include "text/jinja/template.h"

#include <QElapsedTimer>
#include <QtTest>
#include <fmt/format.h>
#include <random>

using namespace millrace;
using jinja::Template;

namespace {

std::string repeated(const std::string& text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}

} // namespace

class TestJinjaHostile : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void ends_data() {
    QTest::addColumn<QString>("source");
    QTest::addColumn<QString>("type");
    const auto row = [](const char* name, const std::string& source, const char* type) {
      QTest::newRow(name) << QString::fromStdString(source) << type;
    };
    const std::string loops = "{% for a in range(99999) %}{% for b in range(99999) %}";
    const std::string ends = "{% endfor %}{% endfor %}";
    row("loops in loops", loops + ends, "MemoryError");
    row("loops that write", loops + "aaaaaaaaaaaaaaaa" + ends, "MemoryError");
    row("a text that doubles",
        "{% set n = namespace(s='aaaaaaaa') %}{% for i in range(99) %}{% set n.s = n.s + n.s %}{% endfor %}",
        "MemoryError");
    row("a list that doubles",
        "{% set n = namespace(s=[1]) %}{% for i in range(99) %}{% set n.s = n.s + n.s %}{% endfor %}", "MemoryError");
    row("a text times much", "{{ 'abc' * 99999999999 }}", "MemoryError");
    row("a list times much", "{{ [1, 2] * 99999999999 }}", "MemoryError");
    row("a range too long", "{{ range(9999999999) | list }}", "OverflowError");
    row("a huge width", "{{ 'a'.center(99999999999) }}", "MemoryError");
    row("a huge indent", "{{ 'a' | indent(99999999999, true) }}", "MemoryError");
    row("a huge format width", "{{ '%999999999d' % 1 }}", "MemoryError");
    row("a huge brace width", "{{ '{:999999999}'.format(1) }}", "MemoryError");
    row("a huge precision", "{{ '%.999999999f' % 1.5 }}", "MemoryError");
    row("a huge json indent", "{{ [1] | tojson(indent=99999999999) }}", "MemoryError");
    row("replacing that grows", "{{ ('a' * 9999999).replace('a', 'b' * 999) }}", "MemoryError");
    row("joining that grows", "{{ (['a'] * 999999) | join('b' * 9999) }}", "MemoryError");
    row("tabs that grow", "{{ '\\t'.expandtabs(99999999999) }}", "MemoryError");
    row("batches that are filled", "{{ [1] | batch(99999999999, 0) | list }}", "MemoryError");
    row("slices without end", "{{ [1] | slice(99999999999) | list }}", "MemoryError");
    row("a macro that calls itself", "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "RecursionError");
    row("macros that call one another",
        "{% macro f() %}{{ g() }}{% endmacro %}{% macro g() %}{{ f() }}{% endmacro %}{{ f() }}", "RecursionError");
    row("a loop that calls itself", "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}", "RecursionError");
    row("a macro that branches",
        "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(40) }}", "TimeoutError");
    row("a list in lists", "{% set n = namespace(s=[]) %}{% for i in range(99999) %}{% set n.s = [n.s] %}{% endfor %}",
        "RecursionError");
    row("a filter on filters",
        "{% set n = namespace(s=[1]) %}{% for i in range(99999) %}{% set n.s = n.s | map('string') %}{% endfor %}{{ "
        "n.s | list }}",
        "RecursionError");
    row("a namespace that holds itself", "{% set n = namespace() %}{% set n.me = n %}{{ n }}", "RecursionError");
    row("deep brackets", "{{ " + repeated("(", 5000) + "1" + repeated(")", 5000) + " }}", "RecursionError");
    row("deep lists", "{{ " + repeated("[", 5000) + repeated("]", 5000) + " }}", "RecursionError");
    row("deep blocks", repeated("{% if true %}", 5000) + repeated("{% endif %}", 5000), "RecursionError");
    row("many nots", "{{ " + repeated("not ", 5000) + "true }}", "RecursionError");
    row("many minuses", "{{ " + repeated("- ", 5000) + "1 }}", "RecursionError");
    row("a long sum", "{{ 1" + repeated(" + 1", 50000) + " }}", "RecursionError");
    row("many filters", "{{ 1" + repeated(" | abs", 50000) + " }}", "RecursionError");
    row("many attributes", "{{ a" + repeated(".b", 50000) + " }}", "RecursionError");
    row("many elses", "{{ 1" + repeated(" if 0 else 1", 5000) + " }}", "RecursionError");
    row("a power", "{{ 9 ** 999999999 }}", "OverflowError");
    row("the least number divided", "{{ (-9223372036854775807 - 1) // -1 }}", "OverflowError");
    row("the least number negated", "{{ -(-9223372036854775807 - 1) }}", "OverflowError");
    row("a number too long", "{{ 99999999999999999999 }}", "OverflowError");
    row("a sum too large", "{{ 9223372036854775807 + 1 }}", "OverflowError");
  }
  void ends() {
    QFETCH(QString, source);
    QFETCH(QString, type);
    QElapsedTimer timer;
    timer.start();
    const auto parsed = Template::parse(source.toStdString());
    if (!parsed) {
      QCOMPARE(QString::fromStdString(parsed.error().type), type);
    } else {
      const auto rendered = parsed->render(Json::object());
      QVERIFY(!rendered);
      QVERIFY2(QString::fromStdString(rendered.error().type) == type, rendered.error().text().c_str());
      QVERIFY(!rendered.error().message.empty());
    }
    QVERIFY2(timer.elapsed() < 20'000, fmt::format("took {} ms", timer.elapsed()).c_str()); // sanitized builds too
  }

  void searchesInLinearTime_data() {
    QTest::addColumn<QString>("source");
    // Texts of a million a's, in which as many a's and a b are looked for.
    const QString texts = "{% set t = 'a' * 1000000 %}{% set w = 'a' * 500000 ~ 'b' %}";
    for (const char* use : {"{{ w in t }}", "{{ t.find(w) }}", "{{ t.rfind('b' ~ 'a' * 500000) }}", "{{ t.count(w) }}",
                            "{{ t | replace(w, 'x') | length }}", "{{ t.split(w) | length }}",
                            "{{ t.rsplit(w) | length }}", "{{ t.strip(w) | length }}", "{{ t | trim('b') | length }}"})
      QTest::newRow(use) << texts + use;
  }
  void searchesInLinearTime() {
    QFETCH(QString, source);
    QElapsedTimer timer;
    timer.start();
    const auto parsed = Template::parse(source.toStdString());
    QVERIFY(parsed);
    parsed->render(Json::object()); // done, or refused
    QVERIFY2(timer.elapsed() < 10'000, fmt::format("took {} ms", timer.elapsed()).c_str());
  }

  void limitsAreSettings() {
    const auto parsed = Template::parse("{% for i in range(1000) %}abcdefgh{% endfor %}");
    QVERIFY(parsed);
    QVERIFY(parsed->render(Json::object()));
    jinja::RenderLimits limits;
    limits.output = 7999;
    QCOMPARE(QString::fromStdString(parsed->render(Json::object(), limits).error().type), QString("MemoryError"));
    limits = {};
    limits.steps = 500;
    QCOMPARE(QString::fromStdString(parsed->render(Json::object(), limits).error().type), QString("TimeoutError"));
    limits = {};
    limits.bytes = 5000;
    QCOMPARE(QString::fromStdString(parsed->render(Json::object(), limits).error().type), QString("MemoryError"));
  }

  void refusesSources_data() {
    QTest::addColumn<QByteArray>("source");
    QTest::newRow("not UTF-8") << QByteArray("a\xFF\xFE");
    QTest::newRow("cut character") << QByteArray("{{ '\xF0\x9F");
    QTest::newRow("surrogate") << QByteArray("{{ '\xED\xA0\x80' }}");
    QTest::newRow("escaped surrogate") << QByteArray("{{ '\\ud800' }}");
    QTest::newRow("cut escape") << QByteArray("{{ '\\u12' }}");
    QTest::newRow("no such character") << QByteArray("{{ '\\U00110000' }}");
    QTest::newRow("too long") << QByteArray(5 << 20, 'a');
    QTest::newRow("open string") << QByteArray("{{ 'abc }}");
    QTest::newRow("a zero byte in a tag") << QByteArray("{{ \0 }}", 7);
  }
  void refusesSources() {
    QFETCH(QByteArray, source);
    const auto parsed = Template::parse(source.toStdString());
    QVERIFY(!parsed);
    QCOMPARE(QString::fromStdString(parsed.error().type), QString("TemplateSyntaxError"));
  }

  /// A short run of what the fuzzer does at length: sound templates with pieces cut, doubled and swapped.
  void survivesMutations() {
    const std::vector<std::string> seeds = {
        "{%- for m in messages %}{{ m['role'] + ': ' + m.content | trim }}{% if not loop.last %}\n{% endif %}{%- "
        "endfor -%}",
        "{% macro f(a, b='x') -%}{{ a ~ b }}{{ caller() }}{%- endmacro %}{% call f(1) %}{{ '%s' % [1, 2][::-1] }}{% "
        "endcall %}",
        "{% set ns = namespace(n=0) %}{% for k, v in {'a': 1}.items() if v is defined %}{% set ns.n = ns.n + v ** 2 "
        "%}{% endfor %}{{ ns.n | tojson(indent=2) }}",
        "{# c #}{% raw %}{{ }}{% endraw %}{{ \"a\\u00e9\"[1:].upper() | replace('A', '{:>5}'.format(3)) | list | "
        "map('lower') | join('-') }}",
    };
    const Json input = {
        {"messages", {{{"role", "user"}, {"content", " h\u00e9 "}}, {{"role", "assistant"}, {"content", nullptr}}}}};
    jinja::RenderLimits limits;
    limits.steps = 100'000;
    limits.bytes = 4 << 20;
    std::mt19937 random(7);
    const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random()) % n; };
    for (int round = 0; round < 20'000; ++round) {
      std::string source = seeds[below(seeds.size())];
      for (std::size_t change = 0; change <= below(4); ++change) {
        const std::string& other = seeds[below(seeds.size())];
        const std::size_t from = below(other.size()), at = below(source.size() + 1);
        switch (below(4)) {
        case 0:
          source.erase(at, below(12));
          break;
        case 1:
          source.insert(at, other.substr(from, below(24)));
          break;
        case 2:
          if (at < source.size()) source[at] = "{}%#'\"()[]|.,:-+*~ \n\\0a"[below(23)];
          break;
        default:
          source.insert(at, source.substr(below(source.size() + 1), below(16)));
        }
      }
      const auto parsed = Template::parse(source);
      if (parsed) parsed->render(input, limits);
    }
  }
};

QTEST_GUILESS_MAIN(TestJinjaHostile)
#include "test_jinja_hostile.moc"
