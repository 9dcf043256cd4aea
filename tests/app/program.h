// The built headless program as a child process, for tests of what it prints and how it ends.
#pragma once

#include <QByteArray>
#include <QElapsedTimer>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QString>
#include <QStringList>
#include <QTemporaryDir>
#include <QtTest>

#include <csignal>
#include <memory>

namespace millrace::test {

constexpr int patienceMs = 240'000; // sanitized builds on busy machines

struct Outcome {
  bool finished = false; ///< false: it crashed or hung
  int code = -1;
  QByteArray out;
  QByteArray error;

  QJsonObject object() const { return QJsonDocument::fromJson(out).object(); }
  QJsonArray array() const { return QJsonDocument::fromJson(out).array(); }
  QList<QByteArray> lines() const {
    QList<QByteArray> all = out.split('\n');
    if (!all.isEmpty() && all.back().isEmpty()) all.removeLast();
    return all;
  }
};

/// A process that is killed if the test is over before it is.
class Child {
 public:
  explicit Child(const QStringList& arguments, const QStringList& environment = {},
                 const QString& program = MILLRACE_PROGRAM) {
    QProcessEnvironment variables = QProcessEnvironment::systemEnvironment();
    for (const QString& entry : environment) variables.insert(entry.section('=', 0, 0), entry.section('=', 1));
    m_process.setProcessEnvironment(variables);
    m_process.setProgram(program);
    m_process.setArguments(arguments);
  }
  ~Child() {
    if (m_process.state() == QProcess::NotRunning) return;
    m_process.kill();
    m_process.waitForFinished();
  }

  QProcess& process() { return m_process; }
  bool start() {
    m_process.start();
    return m_process.waitForStarted(patienceMs);
  }
  void signal(int number) { ::kill(static_cast<pid_t>(m_process.processId()), number); }

  /// Waits until standard output so far holds the text.
  bool waitForOutput(const QByteArray& text) {
    QElapsedTimer timer;
    timer.start();
    while (!m_out.contains(text)) {
      const qint64 left = patienceMs - timer.elapsed();
      if (left <= 0) return false;
      if (!m_process.waitForReadyRead(static_cast<int>(left)) && m_process.state() == QProcess::NotRunning) {
        m_out += m_process.readAllStandardOutput();
        return m_out.contains(text);
      }
      m_out += m_process.readAllStandardOutput();
    }
    return true;
  }

  /// Standard output so far.
  const QByteArray& output() const { return m_out; }

  Outcome wait() {
    Outcome outcome;
    outcome.finished = (m_process.state() == QProcess::NotRunning || m_process.waitForFinished(patienceMs)) &&
                       m_process.exitStatus() == QProcess::NormalExit;
    outcome.code = m_process.exitCode();
    outcome.out = m_out + m_process.readAllStandardOutput();
    outcome.error = m_process.readAllStandardError();
    return outcome;
  }

 private:
  QProcess m_process;
  QByteArray m_out;
};

inline Outcome runProgram(const QStringList& arguments, const QByteArray& input = {},
                          const QStringList& environment = {}) {
  Child child(arguments, environment);
  if (!child.start()) return {};
  child.process().write(input);
  child.process().closeWriteChannel();
  return child.wait();
}

/// One "millrace: " line on standard error and nothing else, with each of the words.
inline bool isOneError(const Outcome& outcome, const QList<QByteArray>& words) {
  if (!outcome.error.startsWith("millrace: ") || outcome.error.count('\n') != 1 || !outcome.error.endsWith('\n'))
    return false;
  return std::all_of(words.begin(), words.end(), [&](const QByteArray& word) { return outcome.error.contains(word); });
}

inline void writeFile(const QString& path, const QByteArray& contents) {
  QFile file(path);
  QVERIFY2(file.open(QIODevice::WriteOnly), qPrintable(path));
  QCOMPARE(file.write(contents), contents.size());
}

inline QByteArray readFile(const QString& path) {
  QFile file(path);
  return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

/// Writes data and a project of a model of a few thousand parameters into the folder; gives the project's path.
inline QString writeTinyProject(const QString& folder, const QString& name, int steps) {
  QByteArray text;
  for (int i = 0; i < 400; ++i)
    text += "The " + QByteArray::number(i) + "th goose walked to the river and the river said " +
            QByteArray::number(i * 7 % 31) + ".\n%\n";
  writeFile(folder + "/geese.txt", text);
  const QJsonObject config{{"model_type", "llama"},    {"vocab_size", 300},
                           {"hidden_size", 32},        {"intermediate_size", 64},
                           {"num_hidden_layers", 3},   {"num_attention_heads", 4},
                           {"num_key_value_heads", 2}, {"max_position_embeddings", 64},
                           {"rms_norm_eps", 1e-5},     {"tie_word_embeddings", true}};
  const QJsonObject project{
      {"format", 1},
      {"name", name},
      {"model", QJsonObject{{"config", config}}},
      {"tokenizer", QJsonObject{{"train", QJsonObject{{"vocabulary", 300}}}}},
      {"data", QJsonObject{{"sources", QJsonObject{{"path", "geese.txt"}, {"separator", "%"}}}, {"cache", "cache"}}},
      {"training", QJsonObject{{"steps", steps},
                               {"context", 32},
                               {"micro_batch", 2},
                               {"micro_batches", 2},
                               {"learning_rate", 1e-3},
                               {"warmup_steps", 2},
                               {"threads", 2}}},
      {"memory", QJsonObject{{"vram_limit", "4MiB"}, {"ram_limit", "64MiB"}}},
      {"samples", QJsonObject{{"prompts", QJsonArray{"The"}}, {"tokens", 8}}},
  };
  const QString path = folder + "/" + name + ".json";
  writeFile(path, QJsonDocument(project).toJson());
  return path;
}

} // namespace millrace::test
