// Project: everything that a training run was asked for, as a value. A project file gives it (engine/project reads,
// checks and writes it); defaults are the member initialisers here. Folders and files are absolute once read.
#pragma once

#include "base/units.h"
#include "engine/precision.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace millrace {

/// A Hugging Face model folder; training starts from its weights.
struct ModelFolder {
  std::filesystem::path folder;
  bool operator==(const ModelFolder&) const = default;
};

/// A config.json, in a file of its own or inside the project; training starts from random weights.
struct ModelConfig {
  std::filesystem::path file; ///< empty when the text is given
  std::string text;           ///< JSON of an object; empty when the file is given
  bool operator==(const ModelConfig&) const = default;
};

using ModelSource = std::variant<ModelFolder, ModelConfig>;

/// An existing tokenizer.json.
struct TokenizerFile {
  std::filesystem::path file;
  bool operator==(const TokenizerFile&) const = default;
};

/// A byte-level BPE tokenizer trained on the project's own data when the run starts.
struct TokenizerTraining {
  std::int64_t vocabulary = 0; ///< entries, the 256 bytes and special tokens among them
  Bytes bytes = 64 * MiB;      ///< of text to learn from, at most
  bool operator==(const TokenizerTraining&) const = default;
};

/// The tokenizer.json of the model folder.
struct TokenizerOfModel {
  bool operator==(const TokenizerOfModel&) const = default;
};

using TokenizerSource = std::variant<TokenizerOfModel, TokenizerFile, TokenizerTraining>;

enum class DataFormat {
  Auto,     ///< plain text or rows of JSON by the file's ending, and what rows hold by the first of them
  Text,     ///< plain text
  Jsonl,    ///< objects with a field of text
  Alpaca,   ///< {"instruction": ..., "input": ..., "output": ...}
  ShareGpt, ///< {"conversations": [{"from": ..., "value": ...}, ...]}
  Messages, ///< {"messages": [{"role": ..., "content": ...}, ...]}
};

struct DataSourceSpec {
  std::vector<std::filesystem::path> paths; ///< files, read in this order
  DataFormat format = DataFormat::Auto;
  std::string textField = "text";     ///< of each object in a JSON lines file
  std::string separator;              ///< a line of text that ends a document; empty: a file is one document
  std::vector<std::string> sets = {}; ///< only rows whose meta.pile_set_name is one of these; empty: all
  /// Share of tokens that is drawn from it, in proportion to the other sources'. Every source has one, or none has:
  /// then all are drawn from in proportion to their sizes.
  std::optional<double> weight = {};
  bool operator==(const DataSourceSpec&) const = default;
};

/// What of a conversation is learnt from; the rest is context.
enum class LearnFrom {
  Assistant, ///< what assistants say, with the tokens that end their turns
  Last,      ///< the last of these turns
  All,       ///< every token
};

/// What becomes of a conversation with more tokens than the context.
enum class OverLong {
  Truncate, ///< its first tokens are kept
  Split,    ///< it is split between turns, each part with the system message
  Drop,     ///< it is left out
};

struct ChatConfig {
  std::string builtInTemplate;        ///< one of those for base models
  std::filesystem::path templateFile; ///< a Jinja template; where neither is given, the model's
  LearnFrom learn = LearnFrom::Assistant;
  OverLong overLong = OverLong::Truncate;
  bool operator==(const ChatConfig&) const = default;
};

struct DataConfig {
  std::vector<DataSourceSpec> sources;
  double validationFraction = 0.05; ///< share of documents held out, chosen by their hash; 0 to 0.5
  std::filesystem::path cache;      ///< folder for token files; empty: the program's own choice
  std::int64_t badRows = 0;         ///< unreadable rows that are skipped before reading gives up
  ChatConfig chat;                  ///< of sources that hold conversations
  bool operator==(const DataConfig&) const = default;
};

enum class LengthUnit { Steps, Tokens, Epochs, Hours };

/// How long to train. Steps and tokens are whole numbers; epochs and hours may have a fraction.
struct TrainingLength {
  LengthUnit unit = LengthUnit::Steps;
  double amount = 0;
  bool operator==(const TrainingLength&) const = default;
};

/// What is kept of the forward pass for the backward pass.
enum class RecomputePolicy {
  Auto,
  Full,      ///< only each layer's input
  Selective, ///< what is costly to compute again
  None,      ///< everything
};

enum class Switch { Auto, On, Off };

enum class ScheduleShape {
  Constant, ///< after the warm-up
  Linear,   ///< down to the minimum at the end
  Cosine,   ///< down to the minimum at the end
  Wsd,      ///< warm up, stay, decay over the last decayFraction
};

/// What a run is for: sets the optimizer's defaults (applyRecipe).
enum class Recipe {
  Pretrain, ///< from random weights, or on with much new text
  FineTune, ///< all weights of a trained model, on little text: small steps, no pull to zero
};

/// The initialisers are those of Recipe::Pretrain.
struct TrainingConfig {
  TrainingLength length;
  Recipe recipe = Recipe::Pretrain;
  std::int64_t microBatch = 8;   ///< rows that are computed at once
  std::int64_t microBatches = 1; ///< per optimizer step
  std::int64_t context = 1024;   ///< tokens of a row
  Precision precision = Precision::Fp32;
  ClipMode clip = ClipMode::Exact;
  double maxGradNorm = 1.0; ///< global norm above which gradients are scaled down; unused with ClipMode::Off
  RecomputePolicy recompute = RecomputePolicy::Auto;
  std::int64_t scheduleGroup = 0; ///< micro-batches that visit a layer before the next layer's turn; 0: all of them
  std::int64_t slots = 2;         ///< layers' worth of streamed weights on the device: 2 or 3
  Switch offloadActivations = Switch::Auto; ///< kept inputs of layers move to host memory
  bool overlap = true;                      ///< copies and host optimizer run beside compute; off: one after the other
  std::int64_t seed = 1;                    ///< of weights, data order and everything else that is drawn
  double learningRate = 3e-4;               ///< the peak
  double minLearningRateRatio = 0.1;        ///< where linear, cosine and wsd end, as a share of the peak
  ScheduleShape schedule = ScheduleShape::Cosine;
  /// Linear from 0. Not given: 100, or a tenth of the run's steps when those are fewer than 1000.
  std::optional<std::int64_t> warmupSteps;
  double decayFraction = 0.2; ///< wsd: the last share of the run in which the rate decays
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  double weightDecay = 0.1;      ///< on matrices only
  std::int64_t maxBadSteps = 10; ///< steps in a row with a loss or norm that is not finite before the run stops
  std::int64_t threads = 0;      ///< of compute on the host; 0: the usable cores
  std::string device = "auto";   ///< "auto", "cpu" or "cuda:N"
  std::int64_t headChunk = 512;  ///< tokens whose logits exist at one time
  bool operator==(const TrainingConfig&) const = default;

  std::int64_t tokensPerStep() const { return microBatches * microBatch * context; }
};

/// Sets the recipe and the settings that it has defaults for: learning rate, schedule and where it ends, AdamW's betas,
/// weight decay.
void applyRecipe(TrainingConfig& training, Recipe recipe);

enum class PlacementChoice {
  Auto,    ///< the planner's
  Ram,     ///< all state in host memory, layers streamed
  Weights, ///< weights on the device, optimizer state in host memory
  Vram,    ///< everything on the device
};

/// Where state may live that neither the device nor host memory has room for.
struct NvmeConfig {
  std::vector<std::filesystem::path> directories; ///< one a drive; empty: nothing lives on disk
  Bytes limit = 0;                                ///< of each drive, to use at most; 0: what is free
  Bytes shardSize = 512 * MiB;                    ///< of the files that state is kept in
  static constexpr Bytes leastShardSize = 16 * MiB;
  bool operator==(const NvmeConfig&) const = default;
};

struct MemoryConfig {
  Bytes vramLimit = 0; ///< device memory to use at most, the CPU's stand-in for it included; 0: what is free
  Bytes ramLimit = 0;  ///< host memory to use at most; 0: what is free
  PlacementChoice placement = PlacementChoice::Auto;
  NvmeConfig nvme;
  bool operator==(const MemoryConfig&) const = default;
};

struct CheckpointConfig {
  std::int64_t every = 0;   ///< steps; 0: not by steps
  double everyMinutes = 30; ///< 0: not by time
  std::int64_t keep = 2;    ///< the newest ones
  bool keepBest = true;     ///< and the one with the lowest validation loss
  bool operator==(const CheckpointConfig&) const = default;
};

struct EvaluationConfig {
  std::int64_t every = 0;     ///< steps; 0: only at the end
  std::int64_t rows = 256;    ///< of validation data, at most; 0: all
  std::int64_t earlyStop = 0; ///< evaluations in a row without a lower loss before the run ends; 0: off
  bool operator==(const EvaluationConfig&) const = default;
};

struct SamplesConfig {
  std::int64_t every = 0;           ///< steps; 0: only at the end
  std::vector<std::string> prompts; ///< one sample each; none: no samples
  std::int64_t tokens = 128;        ///< generated, at most
  double temperature = 0.8;         ///< 0: always the likeliest token
  std::int64_t topK = 0;            ///< candidates kept; 0: all
  double topP = 0.95;               ///< probability mass kept; 1: all
  std::int64_t seed = 1;
  bool operator==(const SamplesConfig&) const = default;
};

struct Project {
  std::string name;
  ModelSource model;
  TokenizerSource tokenizer;
  DataConfig data;
  TrainingConfig training;
  MemoryConfig memory;
  CheckpointConfig checkpoint;
  EvaluationConfig evaluation;
  SamplesConfig samples;
  bool operator==(const Project&) const = default;
};

} // namespace millrace
