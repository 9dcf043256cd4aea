// Run directories as runs leave them, without training: for tests of what is read from them.
#pragma once

#include "base/atomic_file.h"
#include "checkpoint/checkpoint_writer.h"
#include "checkpoint/manifest.h"
#include "checkpoint/small_state.h"
#include "run/run_directory.h"
#include "run/run_journal.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace millrace::test {

struct WrittenRun {
  std::string name = "goose";
  std::int64_t steps = 0;
  std::int64_t totalSteps = 100;
  std::int64_t tokensOfStep = 64;
  double secondsOfStep = 0.5;
  double began = 1e9; ///< seconds since 1970
  /// Of a step.
  std::function<double(std::int64_t)> loss = [](std::int64_t step) { return 5.0 - 0.01 * static_cast<double>(step); };
  std::vector<std::pair<std::int64_t, double>> evaluations = {};
  std::vector<std::int64_t> checkpoints = {};
  std::optional<std::int64_t> best = {}; ///< checkpoint that is marked so
  std::string dataFingerprint = "data";
  std::string tokenizer = "{}";                     ///< empty: none is there
  Json settings = Json::object();                   ///< replaces whole sections of the project
  std::optional<RunState> end = RunState::Finished; ///< nothing: it was killed
  std::string reason = "";
};

inline Json writtenProject(const WrittenRun& run) {
  Json project = {{"format", 1},
                  {"name", run.name},
                  {"tokenizer", {{"train", {{"vocabulary", 300}}}}},
                  {"data", {{"sources", Json::array({{{"path", "/data/geese.txt"}}})}, {"validation_fraction", 0.05}}},
                  {"training", {{"steps", run.totalSteps}, {"learning_rate", 1e-3}, {"context", 32}}},
                  {"evaluation", {{"every", 10}, {"rows", 256}}}};
  for (const auto& [section, value] : run.settings.items()) project[section] = value;
  return project;
}

/// Nothing may be at the path.
inline Status writeRun(FileSystem& files, const Path& path, const WrittenRun& run) {
  MILLRACE_TRY(OwnedRun owned, createRun(files, path));
  const Json model = {{"model_type", "llama"},      {"vocab_size", 300},      {"hidden_size", 32},
                      {"intermediate_size", 64},    {"num_hidden_layers", 3}, {"num_attention_heads", 4},
                      {"num_key_value_heads", 2},   {"rms_norm_eps", 1e-5},   {"max_position_embeddings", 64},
                      {"tie_word_embeddings", true}};
  MILLRACE_CHECK(writeRunFile(files, owned.directory,
                              {{"format", 1},
                               {"program", "0.1.0"},
                               {"project", writtenProject(run)},
                               {"model", model},
                               {"hardware", {{"host", "box"}, {"cpu", "a CPU"}}}}));
  if (!run.tokenizer.empty()) MILLRACE_CHECK(writeTextFile(files, path / "tokenizer.json", run.tokenizer));
  MILLRACE_TRY(RunJournal journal, RunJournal::open(files, owned.directory, std::nullopt));
  MILLRACE_CHECK(journal.append({run.began, 0, StateChanged{RunState::Preparing, ""}}));
  auto evaluation = run.evaluations.begin();
  for (std::int64_t step = 1; step <= run.steps; ++step) {
    StepMetrics metrics;
    metrics.step = step;
    metrics.totalSteps = run.totalSteps;
    metrics.time = run.began + static_cast<double>(step) * run.secondsOfStep;
    metrics.loss = run.loss(step);
    metrics.tokens = run.tokensOfStep;
    metrics.tokensTotal = run.tokensOfStep * step;
    metrics.seconds = run.secondsOfStep;
    metrics.tokensPerSecond = static_cast<double>(run.tokensOfStep) / run.secondsOfStep;
    MILLRACE_CHECK(journal.append({metrics.time, step, metrics}));
    for (; evaluation != run.evaluations.end() && evaluation->first == step; ++evaluation)
      MILLRACE_CHECK(journal.append({metrics.time, step, Evaluation{evaluation->second, 0, 0, false}}));
  }
  const Path checkpoints = owned.directory.checkpoints();
  SmallState state;
  for (const std::int64_t step : run.checkpoints) {
    MILLRACE_CHECK(files.createDirectories(checkpoints));
    TrainerState trainer;
    trainer.step = step;
    trainer.dataFingerprint = run.dataFingerprint;
    const CheckpointContents contents{state, trainer, "{}", run.tokenizer};
    MILLRACE_CHECK(writeCheckpoint(files, checkpoints, contents, {}));
  }
  if (run.best)
    MILLRACE_CHECK(writeTextFile(files, checkpoints / "best.json",
                                 Json({{"step", *run.best}, {"validation_loss", 2.0}}).dump() + "\n"));
  if (!run.end) return {};
  MILLRACE_CHECK(journal.append({run.began + 1000, run.steps, StateChanged{*run.end, run.reason}}));
  owned.owner->finish(*run.end, run.reason);
  return {};
}

} // namespace millrace::test
