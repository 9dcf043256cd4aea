// How well a trained model predicts a text: loss, perplexity and bits per byte.
#pragma once

#include "base/result.h"
#include "engine/compute_options.h"
#include "engine/model_choice.h"
#include "engine/project.h"
#include "engine/set_loss.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace millrace {

/// The documents that the model's own run held back. The model must come from a run directory, or from a checkpoint
/// inside one.
struct RunValidation {};

/// The documents that a project holds back.
struct ProjectValidation {
  Project project;
};

/// All documents of some files.
struct EvaluationTexts {
  std::vector<DataSourceSpec> sources;
};

/// One text as a whole, for perplexity as papers report it: a window slides over it, and each token is predicted once,
/// from as much text before it as the window shows.
struct SlidingText {
  std::filesystem::path file; ///< UTF-8; all of it is one document, as it lies
  /// Tokens by which the window moves on, at most the context; 0: half of the context.
  std::int64_t stride = 0;
};

using EvaluationData = std::variant<RunValidation, ProjectValidation, EvaluationTexts, SlidingText>;

struct EvaluateOptions {
  ComputeOptions compute;
  std::int64_t context = 0;   ///< tokens of a row; 0: the project's, and for texts 1024 or what the model was made for
  std::int64_t rows = 0;      ///< rows at most; 0: all
  std::int64_t batchRows = 0; ///< rows that are computed at once; 0: about 2048 tokens
  /// Told between batches, and with rows 0 while the text is being read; on the calling thread. false gives up with
  /// Interrupted.
  std::function<bool(std::int64_t doneRows, std::int64_t rows)> progress;
};

/// Of a text that was evaluated as a whole.
struct WholeTextReport {
  std::int64_t stride = 0;
  std::int64_t tokens = 0; ///< of the text, those that the tokenizer puts around it included
  std::int64_t words = 0;  ///< between white space
  std::int64_t bytes = 0;
  double wordPerplexity = 0; ///< the loss of all targets spread over the words
};

struct EvaluationReport {
  double loss = 0; ///< mean over targets, nats
  double perplexity = 0;
  double bitsPerByte = 0;   ///< of the text that the targets stand for; 0 when that is not known
  std::int64_t targets = 0; ///< tokens that were predicted
  std::int64_t rows = 0;
  std::int64_t context = 0;
  std::vector<SetLoss> sets; ///< by name; empty where the data names no sets
  double seconds = 0;        ///< of computing, reading the text and loading the model aside
  Path model;                ///< the folder that the weights come from
  std::optional<std::int64_t> step;
  std::vector<std::string> warnings;
  std::optional<WholeTextReport> wholeText; ///< with SlidingText; rows are windows then
};

/// Errors: BadInput for a model or data that cannot be used, DoesNotFit, Interrupted.
Result<EvaluationReport> evaluateModel(FileSystem& files, const ModelChoice& choice, const EvaluationData& data,
                                       const EvaluateOptions& options = {});

} // namespace millrace
