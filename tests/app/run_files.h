// What a run left on the disk, reduced to what two runs of the same project must have equal in bits.
#pragma once

#include "app/program.h"

#include <QDir>

namespace millrace::test {

/// Everything in metrics.jsonl that must be equal, a line a step.
inline QList<QByteArray> figures(const QString& run) {
  QList<QByteArray> all;
  for (const QByteArray& line : readFile(run + "/metrics.jsonl").split('\n')) {
    if (line.isEmpty()) continue;
    const QJsonObject step = QJsonDocument::fromJson(line).object();
    QJsonObject kept;
    for (const char* key : {"step", "loss", "grad_norm", "learning_rate", "tokens_total"}) kept[key] = step[key];
    all.append(QJsonDocument(kept).toJson(QJsonDocument::Compact));
  }
  return all;
}

/// Step and loss of every evaluation.
inline QStringList evaluations(const QString& run) {
  QStringList all;
  for (const QByteArray& line : readFile(run + "/events.jsonl").split('\n')) {
    const QJsonObject event = QJsonDocument::fromJson(line).object();
    if (event["event"] == "evaluation")
      all.append(QString("%1: %2").arg(event["step"].toInt()).arg(event["loss"].toDouble(), 0, 'g', 17));
  }
  return all;
}

inline QString newestCheckpoint(const QString& run) {
  // Eight digits: what is being written or removed has a longer name.
  const QStringList names = QDir(run + "/checkpoints").entryList({"step-????????"}, QDir::Dirs, QDir::Name);
  return names.isEmpty() ? QString() : run + "/checkpoints/" + names.last();
}

/// The files of weights and moments, one after another.
inline QByteArray tensors(const QString& checkpoint) {
  QByteArray all;
  for (const QString& name : QDir(checkpoint).entryList({"*.safetensors"}, QDir::Files, QDir::Name))
    all += readFile(checkpoint + "/" + name);
  return all;
}

/// Step, position in the data, updates, seed and what else training goes on from; not the time it took.
inline QJsonObject trainerState(const QString& checkpoint) {
  QJsonObject state = QJsonDocument::fromJson(readFile(checkpoint + "/state.json")).object();
  state.remove("elapsed_seconds");
  return state;
}

/// Fails the test where the two runs differ; both have ended.
inline void compareRuns(const QString& run, const QString& whole) {
  QCOMPARE(figures(run), figures(whole));
  const QString checkpoint = newestCheckpoint(run), expected = newestCheckpoint(whole);
  QCOMPARE(QDir(checkpoint).dirName(), QDir(expected).dirName());
  QVERIFY(tensors(expected).size() > 100'000);
  QVERIFY(tensors(checkpoint) == tensors(expected));
  QVERIFY(trainerState(expected).contains("row"));
  QCOMPARE(trainerState(checkpoint), trainerState(expected));
}

} // namespace millrace::test
