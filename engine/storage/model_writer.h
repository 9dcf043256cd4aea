// Writes a model's tensors as a Hugging Face folder holds them: one safetensors file, or shards with an index. Streams
// through one buffer, whatever the model's size.
#pragma once

#include "base/file.h"
#include "model/blocks.h"
#include "model/model_spec.h"
#include "storage/safetensors_header.h"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace millrace {

struct ModelWriteOptions {
  StoredType type = StoredType::F32;   ///< F32; or BF16 or F16, rounded to nearest, ties to even
  Bytes maxShardBytes = 5'000'000'000; ///< of contents; a larger tensor has a file of its own
  Bytes bufferBytes = 8 * MiB;         ///< all the memory that is used for contents
};

/// Yields the elements [first, first + destination.size()) of a parameter. Called in ascending order, parameter by
/// parameter in the order of blocksOf(); an error stops the writing and is returned.
using FloatSource =
    std::function<Status(const ParameterSpec& parameter, std::int64_t first, std::span<float> destination)>;

struct WrittenFile {
  std::string name; ///< in the folder
  Bytes bytes = 0;
  std::string checksum; ///< XXH3-128
};

/// folder: exists and holds no model yet. Each file appears complete under its name or not at all, the index last;
/// after a failure nothing that was written stays. For a whole folder that appears at once, write into a temporary one
/// and rename it. Tied embeddings are written once, under the embedding's name.
Result<std::vector<WrittenFile>> writeModelTensors(FileSystem& files, const Path& folder, const ModelSpec& spec,
                                                   const ModelWriteOptions& options, const FloatSource& source);

} // namespace millrace
