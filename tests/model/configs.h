// Configs that the model tests start from: one of each family, and changes to them written as JSON.
#pragma once

#include "base/json_reader.h"
#include "model/config_import.h"

#include <string>
#include <vector>

namespace millrace::test {

/// A small valid config of the family, with only the keys that have no sensible default at this size.
inline Json baseConfig(const std::string& family) {
  Json config = Json::parse(family == "gpt2"
                                ? R"({"vocab_size": 100, "n_embd": 32, "n_layer": 4, "n_head": 4, "n_positions": 64})"
                                : R"({"vocab_size": 100, "hidden_size": 32, "num_hidden_layers": 4,
                                      "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8,
                                      "intermediate_size": 48, "max_position_embeddings": 256})");
  config["model_type"] = family;
  return config;
}

/// The base config with the keys of the change set; the value "<remove>" removes a key.
inline Json changedConfig(const std::string& family, const std::string& change) {
  Json config = baseConfig(family);
  const Json changes = Json::parse(change.empty() ? "{}" : change);
  for (const auto& [key, value] : changes.items()) {
    if (value == "<remove>")
      config.erase(key);
    else
      config[key] = value;
  }
  return config;
}

inline const std::vector<std::string>& goldenCases() {
  static const std::vector<std::string> cases{
      "llama_gqa", "llama_mha_tied", "llama3_rope_scaled", "qwen2", "qwen3", "mistral_swa", "gpt2", "phi3", "olmo2",
      "gemma2",    "mixtral",        "qwen3_moe"};
  return cases;
}

inline Path goldenFolder(const std::string& name) {
  return Path(MILLRACE_TEST_DATA) / name;
}

} // namespace millrace::test
