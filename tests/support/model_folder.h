// Models on disk for tests: a Hugging Face folder, a checkpoint or a run with starting weights and a small tokenizer.
#pragma once

#include "base/atomic_file.h"
#include "checkpoint/checkpoint_store.h"
#include "model/config_import.h"
#include "model/initialization.h"
#include "run/run_directory.h"
#include "storage/model_writer.h"
#include "text/bpe_trainer.h"

#include <string>
#include <vector>

namespace millrace::test {

constexpr std::uint64_t weightSeed = 21;

inline const char* sampleText() {
  return "The mill stands by the race. Water turns the wheel, and the wheel turns the stone; grain goes in, flour "
         "comes "
         "out.\nÜber dem Fluß: naïve café, żółw, 水車, 🌊🌊.\nThe miller sings while the water runs and runs.\n";
}

/// <|endoftext|> has id 0; as many further control tokens follow it.
inline std::string smallTokenizer(std::int64_t vocabulary = 300, int furtherSpecial = 0) {
  ThreadPool pool(1);
  BpeTrainerOptions options;
  for (int i = 0; i < furtherSpecial; ++i) options.specialTokens.push_back("<|special" + std::to_string(i) + "|>");
  options.vocabularySize = vocabulary;
  BpeTrainer trainer = valueOrThrow(BpeTrainer::create(pool, options));
  trainer.add(std::vector<std::string>{sampleText()});
  return valueOrThrow(trainer.train());
}

/// deviation: of the starting values; a large one gives a model with opinions.
inline Json smallConfig(const std::string& family, bool tied = false, double deviation = 0.1) {
  Json config;
  config["model_type"] = family;
  config["vocab_size"] = 320;
  config["initializer_range"] = deviation;
  config["tie_word_embeddings"] = tied || family == "gpt2";
  if (family == "gpt2") {
    config["n_embd"] = 64;
    config["n_layer"] = 3;
    config["n_head"] = 4;
    config["n_positions"] = 96;
  } else {
    config["hidden_size"] = 64;
    config["num_hidden_layers"] = 3;
    config["num_attention_heads"] = 4;
    config["num_key_value_heads"] = 2;
    config["intermediate_size"] = 112;
    config["max_position_embeddings"] = 96;
    if (family == "mixtral") config["num_local_experts"] = 4;
    if (family == "qwen3_moe") {
      config["num_experts"] = 5;
      config["num_experts_per_tok"] = 2;
      config["moe_intermediate_size"] = 40;
    }
  }
  return config;
}

/// A checkpoint's view of starting weights; the moments are small numbers of their own.
class StartingState final : public TrainingState {
 public:
  StartingState(const ModelSpec& spec, std::uint64_t seed) : m_spec(spec), m_blocks(blocksOf(spec)), m_seed(seed) {}
  const std::vector<BlockSpec>& blocks() const override { return m_blocks; }
  Status read(std::size_t block, StatePlane plane, std::int64_t first, std::span<float> values) const override {
    initialBlockValues(m_spec, m_blocks[block], m_seed + static_cast<std::uint64_t>(plane), first, values);
    return {};
  }
  Status write(std::size_t, StatePlane, std::int64_t, std::span<const float>) override {
    return failed("starting values cannot be written");
  }

 private:
  ModelSpec m_spec;
  std::vector<BlockSpec> m_blocks;
  std::uint64_t m_seed;
};

inline FloatSource startingValues(const ModelSpec& spec, std::uint64_t seed = weightSeed) {
  return [&spec, seed](const ParameterSpec& parameter, std::int64_t first, std::span<float> values) -> Status {
    initialValues(spec, parameter, seed, first, values);
    return {};
  };
}

/// A folder that is there is replaced.
inline ModelSpec writeModelFolder(FileSystem& files, const Path& folder, const Json& config,
                                  const std::string& tokenizer = smallTokenizer(), std::uint64_t seed = weightSeed) {
  const ModelSpec spec = valueOrThrow(modelSpecFromConfig(config, "config"));
  valueOrThrow(files.remove(folder));
  valueOrThrow(files.createDirectories(folder));
  valueOrThrow(writeTextFile(files, folder / "config.json", config.dump(2)));
  if (!tokenizer.empty()) valueOrThrow(writeTextFile(files, folder / "tokenizer.json", tokenizer));
  (void)valueOrThrow(writeModelTensors(files, folder, spec, {}, startingValues(spec, seed)));
  return spec;
}

/// Saves a checkpoint of the step in run/checkpoints; each step has weights of its own (seed weightSeed + step).
inline ModelSpec saveCheckpoint(FileSystem& files, const Path& run, std::int64_t step, const Json& config,
                                const std::string& tokenizer = smallTokenizer()) {
  const ModelSpec spec = valueOrThrow(modelSpecFromConfig(config, "config"));
  const StartingState state(spec, weightSeed + static_cast<std::uint64_t>(step));
  TrainerState trainer;
  trainer.step = step;
  const std::string text = config.dump(2);
  (void)valueOrThrow(writeCheckpoint(files, RunDirectory(run).checkpoints(), {state, trainer, text, tokenizer}, {}));
  return spec;
}

/// A run directory that training has left; without checkpoints.
inline void writeRunDirectory(FileSystem& files, const Path& run) {
  valueOrThrow(files.createDirectories(run));
  valueOrThrow(writeRunFile(files, RunDirectory(run), Json::object()));
}

} // namespace millrace::test
