// A model's weights on disk, matched against what its spec says: names, shapes and types are checked at open, contents
// are read on demand as fp32.
#pragma once

#include "model/blocks.h"
#include "model/model_spec.h"
#include "storage/safetensors.h"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace millrace {

struct ModelReadOptions {
  /// Rows of the vocabulary's tables in the files, where the spec has more of them: each row after these is the mean of
  /// all that are there. 0: the files have what the spec has.
  std::int64_t storedVocabulary = 0;
};

/// What is wrong with a model's tensors, all of it, each a phrase that begins with the tensor's name.
struct TensorProblems {
  std::vector<std::string> missing;
  std::vector<std::string> unexpected;
  std::vector<std::string> wrongShape; ///< "name is (2, 3), expected (3, 2)"
  std::vector<std::string> notFloats;  ///< "name is I32"
  std::vector<std::string> twice;      ///< "name and other name"

  bool none() const {
    return missing.empty() && unexpected.empty() && wrongShape.empty() && notFloats.empty() && twice.empty();
  }
};

/// Const calls are thread-safe.
class ModelReader {
 public:
  /// path: a Hugging Face folder or one safetensors file. One error names every tensor that is missing, unexpected, of
  /// another shape or without floating-point numbers (five hundred of each; compareTensors() gives all). Names may lack
  /// the prefix of the whole model. Ignored are buffers that are no parameters (gpt2's masks, rotary inv_freq), and
  /// lm_head.weight where the config ties it to the embedding, after checking that the two are equal; where only
  /// lm_head.weight is there, it is the embedding. With rows to add the tables are read once for their means.
  static Result<ModelReader> open(FileSystem& files, const Path& path, const ModelSpec& spec,
                                  const ModelReadOptions& options = {});

  /// The elements [first, first + destination.size()) of a parameter of the spec, row-major as stored. What is not
  /// finite is an error that names it.
  Status read(const ParameterSpec& parameter, std::int64_t first, std::span<float> destination) const;
  /// The elements [first, first + destination.size()) of a block of the spec; padding is zero.
  Status readBlock(const BlockSpec& block, std::int64_t first, std::span<float> destination) const;

  /// Where and as what a parameter is stored.
  const StoredTensor& stored(const ParameterSpec& parameter) const;
  const SafetensorsReader& file() const { return m_file; }

 private:
  explicit ModelReader(SafetensorsReader file) : m_file(std::move(file)) {}
  Status checkTied(const StoredTensor& embedding, const StoredTensor& head) const;
  Status takeMean(const ParameterSpec& table);
  Status checkFinite(const StoredTensor& tensor, std::int64_t first, std::span<const float> values) const;

  SafetensorsReader m_file;
  std::map<std::string, const StoredTensor*, std::less<>> m_stored; ///< by parameter name; into m_file
  std::map<std::string, std::vector<float>, std::less<>> m_means;   ///< of the rows of tables that have too few
};

/// The files' tensors beside those of the spec.
TensorProblems compareTensors(const SafetensorsReader& file, const ModelSpec& spec,
                              const ModelReadOptions& options = {});

} // namespace millrace
