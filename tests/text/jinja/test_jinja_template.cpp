// Templates as jinja2 renders them: golden cases of every feature, chat templates in the manner of released models, and
// where there is a Python with transformers, templates made at random.
#include "base/json_reader.h"
#include "text/jinja/template.h"
#include "text/utf8.h"

#include <QProcess>
#include <QtTest>
#include <fmt/format.h>

using namespace millrace;
using jinja::Template;

namespace {

/// What the program prints for a template: the text, or the kind of error and its message.
std::string answer(const Json& templateSource, const Json& input) {
  const auto parsed = Template::parse(templateSource.get_ref<const std::string&>());
  if (!parsed) return parsed.error().text();
  const auto rendered = parsed->render(input);
  return rendered ? rendered->text : rendered.error().text();
}

std::string expectedOf(const Json& entry) {
  return entry.contains("error") ? entry["error"].get<std::string>() : entry["rendered"].get<std::string>();
}

Json readGolden(const std::string& name) {
  LocalFileSystem files;
  auto json = readJsonFile(files, Path(MILLRACE_TEST_DATA) / name);
  return json ? *json : Json();
}

/// Byte ranges as the reference counts them, in characters.
Json inCharacters(const std::string& text, const std::vector<jinja::ByteRange>& ranges) {
  const auto characters = [&](std::size_t end) {
    std::int64_t count = 0;
    for (std::size_t at = 0; at < std::min(end, text.size()); ++count)
      at += static_cast<std::size_t>(utf8Length(static_cast<unsigned char>(text[at])));
    return count;
  };
  Json list = Json::array();
  for (const auto& range : ranges) list.push_back({characters(range.begin), characters(range.end)});
  return list;
}

} // namespace

class TestJinjaTemplate : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void rendersAsTheReferenceDoes() {
    const Json golden = readGolden("jinja/cases.json");
    QVERIFY(golden["cases"].size() > 500);
    for (const Json& entry : golden["cases"]) {
      const std::string got = answer(entry["template"], golden["inputs"][entry["input"].get<std::size_t>()]);
      QVERIFY2(
          got == expectedOf(entry),
          fmt::format("{}\n  got      {}\n  expected {}", entry["template"].dump(), got, expectedOf(entry)).c_str());
    }
  }

  void marksWhatGenerationTagsHold() {
    const Json golden = readGolden("jinja/cases.json");
    int marked = 0;
    for (const Json& entry : golden["cases"]) {
      if (!entry.contains("generated") || entry.contains("error")) continue;
      const auto parsed = Template::parse(entry["template"].get<std::string>());
      QVERIFY(parsed && parsed->marksGeneration());
      const auto rendered = parsed->render(golden["inputs"][entry["input"].get<std::size_t>()]);
      QVERIFY(rendered);
      const Json ranges = inCharacters(rendered->text, rendered->generated);
      // Ranges of captured text may pass the end of the text; the counts agree as far as there is text.
      for (std::size_t i = 0; i < ranges.size(); ++i)
        if (entry["generated"][i][1] <= inCharacters(rendered->text, {{0, rendered->text.size()}})[0][1])
          QCOMPARE(ranges[i].dump(), entry["generated"][i].dump());
      ++marked;
    }
    QVERIFY(marked > 1);
  }

  void rendersReleasedTemplates_data() {
    QTest::addColumn<QString>("name");
    for (const char* name :
         {"chatml", "chatml_default_system", "gemma", "llama2", "llama3", "namespace_macro", "tools"})
      QTest::newRow(name) << name;
  }
  void rendersReleasedTemplates() {
    QFETCH(QString, name);
    const Json golden = readGolden("chat_templates/" + name.toStdString() + ".json");
    QVERIFY(golden["cases"].size() >= 10);
    for (const Json& entry : golden["cases"])
      QCOMPARE(QString::fromStdString(answer(golden["template"], entry["input"])),
               QString::fromStdString(expectedOf(entry)));
  }

  void tellsTheTime_data() {
    QTest::addColumn<QString>("format");
    QTest::addColumn<QString>("text");
    QTest::newRow("date") << "%d %b %Y"
                          << "05 Mar 2026";
    QTest::newRow("iso") << "%Y-%m-%d %H:%M:%S"
                         << "2026-03-05 07:08:09";
    QTest::newRow("no zone") << "[%Z%z]"
                             << "[]";
    QTest::newRow("empty") << ""
                           << "";
    QTest::newRow("percent") << "100%%"
                             << "100%";
  }
  void tellsTheTime() {
    QFETCH(QString, format);
    QFETCH(QString, text);
    std::tm now{};
    now.tm_year = 126;
    now.tm_mon = 2;
    now.tm_mday = 5;
    now.tm_hour = 7;
    now.tm_min = 8;
    now.tm_sec = 9;
    const auto parsed = Template::parse("{{ strftime_now(format) }}");
    QVERIFY(parsed);
    const auto rendered = parsed->render({{"format", format.toStdString()}}, {}, now);
    QVERIFY(rendered);
    QCOMPARE(QString::fromStdString(rendered->text), text);
  }

  void namesTheLine_data() {
    QTest::addColumn<QString>("source");
    QTest::addColumn<int>("line");
    QTest::newRow("syntax") << "a\n{% if %}" << 2;
    QTest::newRow("unknown tag") << "\n\n{% frob %}" << 3;
    QTest::newRow("at run time") << "a\nb\n{{ x.y }}" << 3;
    QTest::newRow("inside a loop") << "{% for i in [1] %}\n{{ i + 'a' }}\n{% endfor %}" << 2;
    QTest::newRow("end of template") << "{% if true %}\n\n" << 2;
  }
  void namesTheLine() {
    QFETCH(QString, source);
    QFETCH(int, line);
    const auto parsed = Template::parse(source.toStdString());
    if (!parsed) {
      QCOMPARE(parsed.error().line, line);
      return;
    }
    const auto rendered = parsed->render(Json::object());
    QVERIFY(!rendered);
    QCOMPARE(rendered.error().line, line);
  }

  void agreesWithTheReferenceOnRandomTemplates() {
    const QString python = qEnvironmentVariable("MILLRACE_ORACLE_PYTHON");
    if (python.isEmpty()) QSKIP("MILLRACE_ORACLE_PYTHON does not name a Python with transformers to compare with");
    QProcess process;
    process.start(python, {"-W", "ignore", QStringLiteral(MILLRACE_SOURCE_DIR "/tests/support/jinja_reference.py"),
                           "random", "20", "1500"});
    QVERIFY(process.waitForFinished(240000));
    QVERIFY2(process.exitCode() == 0, process.readAllStandardError().constData());
    int all = 0, different = 0;
    for (const QByteArray& line : process.readAllStandardOutput().split('\n')) {
      if (line.isEmpty()) continue;
      const auto entry = parseJson(line.toStdString(), "reference");
      QVERIFY(entry);
      ++all;
      const std::string got = answer((*entry)["template"], (*entry)["input"]);
      const std::string expected = expectedOf(*entry);
      if (got == expected) continue;
      ++different;
      qInfo("%s\n  got      %s\n  expected %s", (*entry)["template"].dump().c_str(), got.c_str(), expected.c_str());
    }
    QCOMPARE(all, 1500);
    // What is left: slices of constants that have none, which jinja2 folds to nothing, and which of two errors of
    // nonsense comes first.
    QVERIFY2(different <= 25, fmt::format("{} of {} differ", different, all).c_str());
  }
};

QTEST_GUILESS_MAIN(TestJinjaTemplate)
#include "test_jinja_template.moc"
