// Projects, files and answers that the tests of the Configure page share.
#pragma once

#include "bridge/text.h"
#include "configure/project_document.h"

#include <QDir>
#include <QFile>
#include <QTemporaryDir>
#include <QtTest>

namespace millrace::ui {

/// A valid project, written as a person would, with what the form shows in one way or another.
inline const char* const sampleProject = R"({
  "format": 1,
  "name": "sample",
  "model": { "folder": "models/tiny" },
  "data": {
    "sources": { "path": ["a.txt", "b.txt"], "separator": "%" },
    "validation_fraction": 0.10
  },
  "training": {
    "steps": 600, "context": 128,
    "micro_batch": 4,
    "learning_rate": 2e-3
  },
  "memory": { "vram_limit": "50MiB" },
  "samples": { "prompts": ["Once", "A man"] }
}
)";

inline QByteArray readAll(const QString& path) {
  QFile file(path);
  return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

inline bool writeAll(const QString& path, const QByteArray& text) {
  QFile file(path);
  return file.open(QIODevice::WriteOnly) && file.write(text) == text.size();
}

/// What the document says of a key, as JSON; "" when it is missing.
inline QString valueText(const ProjectDocument& document, const char* key) {
  const Json* value = document.value(key);
  return value ? toQt(value->dump()) : QString();
}

/// The sample with one text in place of another, which occurs once.
inline QString changedSample(const char* before, const char* after) {
  QString text(sampleProject);
  Q_ASSERT(text.count(before) == 1);
  return text.replace(before, after);
}

/// A plan as the engine would tell it; needed and limit are of host memory.
inline PlanReport sampleReport(Verdict verdict, Bytes needed, Bytes limit) {
  PlanReport report;
  report.project = "sample";
  report.device = "cpu";
  report.verdict = verdict;
  if (verdict == Verdict::DoesNotFit) report.reasons = {"memory.ram_limit is too small by 1.00 GiB"};
  report.parameters = 405'853'388'800;
  report.layers = 126;
  report.tokensPerStep = 65536;
  report.tiers = {{"vram",
                   30 * MiB,
                   50 * MiB,
                   60 * MiB,
                   0,
                   "memory.vram_limit",
                   {{"workspace", 10 * MiB}, {"weight slots", 20 * MiB}}},
                  {"ram",
                   needed,
                   limit,
                   limit + GiB,
                   2 * GiB,
                   "free memory",
                   {{"weights", needed / 2}, {"moments", needed - needed / 2}}},
                  {"nvme", 0, 0, 0, 0, "", {}}};
  report.time.stepSeconds = 2.5;
  report.time.tokensPerSecond = 1234;
  report.time.low = 900;
  report.time.high = 1666;
  report.time.bottleneck = "compute";
  report.run.tokens = 3e11;
  report.run.seconds = 2.4e8;
  return report;
}

} // namespace millrace::ui
