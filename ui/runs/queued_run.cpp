#include "runs/queued_run.h"

#include "bridge/text.h"

#include <QCoreApplication>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>

namespace millrace::ui {

namespace {

constexpr int format = 1;
const QString resumeWord = QStringLiteral("resume");
const QString projectWord = QStringLiteral("project");
const QString failedWord = QStringLiteral("failed");
const QString runningWord = QStringLiteral("running");
const QString waitingWord = QStringLiteral("waiting");

QString wordOf(QueuedRun::State state) {
  switch (state) {
  case QueuedRun::State::Running:
    return runningWord;
  case QueuedRun::State::Failed:
    return failedWord;
  case QueuedRun::State::Waiting:
    break;
  }
  return waitingWord;
}

} // namespace

QByteArray queueToJson(const KeptQueue& queue) {
  QJsonArray runs;
  for (const QueuedRun& run : queue.runs) {
    QJsonObject object{{"kind", run.kind == QueuedRun::Kind::Resume ? resumeWord : projectWord},
                       {"title", run.title},
                       {"project", QString::fromUtf8(run.project)},
                       {"folder", run.folder},
                       {"source", run.source},
                       {"run", run.run},
                       {"state", wordOf(run.state)},
                       {"message", run.message}};
    if (run.branch)
      object["branch"] = QJsonObject{{"run", toQt(run.branch->run)}, {"step", static_cast<qint64>(run.branch->step)}};
    runs.append(object);
  }
  return QJsonDocument(QJsonObject{{"format", format}, {"stops_on_failure", queue.stopsOnFailure}, {"runs", runs}})
      .toJson();
}

std::optional<KeptQueue> queueFromJson(const QByteArray& text, QString& problem) {
  QJsonParseError error;
  const QJsonObject object = QJsonDocument::fromJson(text, &error).object();
  if (error.error != QJsonParseError::NoError) {
    problem = error.errorString();
    return std::nullopt;
  }
  if (object["format"].toInt() != format) {
    problem = QCoreApplication::translate("QueuedRun", "its format is not %1").arg(format);
    return std::nullopt;
  }
  KeptQueue queue;
  queue.stopsOnFailure = object["stops_on_failure"].toBool(true);
  for (const QJsonValue& value : object["runs"].toArray()) {
    const QJsonObject entry = value.toObject();
    QueuedRun run;
    run.kind = entry["kind"].toString() == resumeWord ? QueuedRun::Kind::Resume : QueuedRun::Kind::Project;
    run.title = entry["title"].toString();
    run.project = entry["project"].toString().toUtf8();
    run.folder = entry["folder"].toString();
    run.source = entry["source"].toString();
    run.run = entry["run"].toString();
    run.message = entry["message"].toString();
    if (entry["state"].toString() == failedWord) run.state = QueuedRun::State::Failed;
    if (entry["state"].toString() == runningWord && !run.run.isEmpty()) run.kind = QueuedRun::Kind::Resume;
    if (const QJsonObject branch = entry["branch"].toObject(); !branch.isEmpty())
      run.branch = BranchPoint{toPath(branch["run"].toString()), branch["step"].toInteger()};
    const QString needed = run.kind == QueuedRun::Kind::Resume ? run.run : entry["project"].toString();
    if (!needed.isEmpty()) queue.runs.push_back(std::move(run));
  }
  return queue;
}

} // namespace millrace::ui
