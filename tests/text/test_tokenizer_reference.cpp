// Tokenizers beside Hugging Face tokenizers on mixed text, code and broken UTF-8, for files with the components of the
// families that are supported. Needs a Python with that library (MILLRACE_ORACLE_PYTHON); how much text, in megabytes,
// MILLRACE_REFERENCE_MEGABYTES says (10 takes some minutes).
#include "base/file.h"
#include "text/tokenizer.h"

#include <QCryptographicHash>
#include <QElapsedTimer>
#include <QFile>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QTemporaryDir>
#include <QtTest>

using namespace millrace;

namespace {

const char* const kinds[] = {"gpt2",
                             "gpt2_prefix",
                             "llama3",
                             "qwen2",
                             "tekken",
                             "o200k",
                             "bloom",
                             "smollm",
                             "starcoder",
                             "falcon",
                             "deepseek",
                             "lower",
                             "llama2",
                             "llama2_metaspace",
                             "mistral",
                             "gemma",
                             "no_fallback",
                             "no_fuse",
                             "whitespace",
                             "whitespace_split",
                             "punctuation_next",
                             "punctuation_previous",
                             "punctuation_removed",
                             "suffix",
                             "prefix",
                             "split_inverted",
                             "split_contiguous"};

QByteArray md5(const void* data, std::size_t size) {
  return QCryptographicHash::hash(QByteArray::fromRawData(static_cast<const char*>(data), static_cast<qsizetype>(size)),
                                  QCryptographicHash::Md5)
      .toHex();
}
QByteArray md5(const std::vector<std::int32_t>& ids) {
  return md5(ids.data(), ids.size() * sizeof(std::int32_t));
}

QList<QByteArray> linesOf(const QString& path) {
  QFile file(path);
  if (!file.open(QIODevice::ReadOnly)) return {};
  QList<QByteArray> lines = file.readAll().split('\n');
  lines.removeLast();
  return lines;
}

} // namespace

class TestTokenizerReference : public QObject {
  Q_OBJECT

  QTemporaryDir m_folder;
  QString m_path; ///< of what the reference wrote; empty: there is no reference
  QJsonObject m_seconds;
  std::vector<std::string> m_texts;

 private Q_SLOTS:
  void initTestCase() {
    const QString python = qEnvironmentVariable("MILLRACE_ORACLE_PYTHON");
    if (python.isEmpty()) return;
    m_path = m_folder.path();
    QProcess process;
    process.setProcessChannelMode(QProcess::SeparateChannels);
    process.start(python, {QStringLiteral(MILLRACE_SOURCE_DIR "/tests/support/tokenizer_reference.py"), m_path,
                           qEnvironmentVariable("MILLRACE_REFERENCE_MEGABYTES", "0.3")});
    QVERIFY(process.waitForFinished(30 * 60 * 1000));
    QVERIFY2(process.exitCode() == 0, process.readAllStandardError().constData());
    m_seconds = QJsonDocument::fromJson(process.readAllStandardOutput()).object()["seconds"].toObject();
    for (const QByteArray& line : linesOf(m_path + "/texts"))
      m_texts.push_back(QByteArray::fromBase64(line).toStdString());
    QVERIFY(m_texts.size() > 10);
  }

  void agrees_data() {
    QTest::addColumn<QString>("kind");
    for (const char* kind : kinds) QTest::newRow(kind) << kind;
  }
  void agrees() {
    QFETCH(QString, kind);
    if (m_path.isEmpty())
      QSKIP("MILLRACE_ORACLE_PYTHON does not name a Python with Hugging Face tokenizers to compare with");
    LocalFileSystem files;
    const auto tokenizer = Tokenizer::load(files, (m_path + "/" + kind + ".json").toStdString());
    QVERIFY2(tokenizer.has_value(), tokenizer ? "" : tokenizer.error().message.c_str());
    const QList<QByteArray> expected = linesOf(m_path + "/" + kind + ".expected");
    QCOMPARE(static_cast<std::size_t>(expected.size()), m_texts.size());
    int wrong = 0;
    for (std::size_t i = 0; i < m_texts.size(); ++i) {
      const QList<QByteArray> hashes = expected[static_cast<qsizetype>(i)].split(' ');
      const auto special = tokenizer->encode(m_texts[i], true);
      const auto ids = tokenizer->encode(m_texts[i], false);
      QVERIFY2(special && ids, special ? "" : special.error().message.c_str());
      const std::string text = tokenizer->decode(*ids, true);
      const bool same[] = {md5(*special) == hashes[0], md5(*ids) == hashes[1],
                           md5(text.data(), text.size()) == hashes[2]};
      if (same[0] && same[1] && same[2]) continue;
      if (++wrong == 1)
        qInfo("text %zu differs: with special tokens %d, ids %d, decoded %d: %s", i, !same[0], !same[1], !same[2],
              QByteArray::fromStdString(m_texts[i]).left(200).toPercentEncoding().constData());
    }
    QElapsedTimer timer;
    timer.start();
    std::vector<std::int32_t> ids;
    for (const std::string& text : m_texts) {
      ids.clear();
      QVERIFY(tokenizer->encode(text, false, ids).has_value());
    }
    qInfo("%s: %.2f times the speed of the reference, one thread each", qPrintable(kind),
          m_seconds[kind].toDouble() / (static_cast<double>(timer.nsecsElapsed()) * 1e-9));
    QCOMPARE(wrong, 0);
  }
};

QTEST_GUILESS_MAIN(TestTokenizerReference)
#include "test_tokenizer_reference.moc"
