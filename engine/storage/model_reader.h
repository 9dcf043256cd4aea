// A model's weights on disk, matched against what its spec says: names, shapes and types are checked at open, contents
// are read on demand as fp32.
#pragma once

#include "model/blocks.h"
#include "model/model_spec.h"
#include "storage/safetensors.h"

#include <map>
#include <span>
#include <string>

namespace millrace {

/// Const calls are thread-safe.
class ModelReader {
 public:
  /// path: a Hugging Face folder or one safetensors file. One error names every tensor that is missing, unexpected, of
  /// another shape or without floating-point numbers. Names may lack the prefix of the whole model. Ignored are buffers
  /// that are no parameters (gpt2's masks, rotary inv_freq), and lm_head.weight where the config ties it to the
  /// embedding, after checking that the two are equal; where only lm_head.weight is there, it is the embedding.
  static Result<ModelReader> open(FileSystem& files, const Path& path, const ModelSpec& spec);

  /// The elements [first, first + destination.size()) of a parameter of the spec, row-major as stored.
  Status read(const ParameterSpec& parameter, std::int64_t first, std::span<float> destination) const;
  /// The elements [first, first + destination.size()) of a block of the spec; padding is zero.
  Status readBlock(const BlockSpec& block, std::int64_t first, std::span<float> destination) const;

  /// Where and as what a parameter is stored.
  const StoredTensor& stored(const ParameterSpec& parameter) const;
  const SafetensorsReader& file() const { return m_file; }

 private:
  explicit ModelReader(SafetensorsReader file) : m_file(std::move(file)) {}
  Status match(const ModelSpec& spec, const std::string& source);
  Status checkTied(const StoredTensor& embedding, const StoredTensor& head) const;

  SafetensorsReader m_file;
  std::map<std::string, const StoredTensor*, std::less<>> m_stored; ///< by parameter name; into m_file
};

} // namespace millrace
