#include "model/foreign_models.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <fmt/format.h>
#include <string_view>
#include <utility>
#include <vector>

namespace millrace {

namespace {

constexpr const char* asSafetensors =
    "save it as safetensors with Python: from transformers import AutoModelForCausalLM as M; "
    "M.from_pretrained(\"FOLDER\").save_pretrained(\"NEW\")";
constexpr const char* asTokenizerFile = "make one with Python: from transformers import AutoTokenizer as T; "
                                        "T.from_pretrained(\"FOLDER\").save_pretrained(\"FOLDER\")";
constexpr const char* original = "download the original model, with model.safetensors in float32, bfloat16 or float16";

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

/// The entries of a folder; none where it cannot be listed, which whoever opens its files says better.
std::vector<std::string> namesIn(FileSystem& files, const Path& folder) {
  auto names = files.list(folder);
  return names ? std::move(*names) : std::vector<std::string>();
}

std::string firstEndingWith(const std::vector<std::string>& names, std::string_view ending) {
  const auto found =
      std::find_if(names.begin(), names.end(), [&](const auto& n) { return lower(n).ends_with(ending); });
  return found == names.end() ? std::string() : *found;
}

/// What a file is by its name, and what to do; nothing for what may well be of a model folder.
std::string foreignFile(const std::string& name) {
  const std::string ending = lower(Path(name).extension().string());
  if (ending == ".gguf" || ending == ".ggml")
    return fmt::format("is a GGUF file, made for inference and mostly quantized; {}", original);
  if (ending == ".bin" || ending == ".pt" || ending == ".pth" || ending == ".ckpt")
    return fmt::format("is a pickle of PyTorch, which may hold program code and is not read; {}", asSafetensors);
  if (ending == ".h5" || ending == ".msgpack" || ending == ".onnx")
    return fmt::format("holds the weights of another framework; {}", original);
  if (ending == ".safetensors") return "is a file of weights alone; name the folder, which holds a config.json as well";
  if (ending == ".zip" || ending == ".gz" || ending == ".tar" || ending == ".zst")
    return "is an archive; unpack it and name the folder";
  return "";
}

std::string textOf(const Json& json, const char* key) {
  const auto entry = json.is_object() ? json.find(key) : json.end();
  return json.is_object() && entry != json.end() && entry->is_string() ? entry->get<std::string>() : std::string();
}

bool isTrue(const Json& json, const char* key) {
  const auto entry = json.find(key);
  return entry != json.end() && entry->is_boolean() && entry->get<bool>();
}

/// Of transformers and of the tools that write their own key.
std::string quantizer(const Json& settings) {
  const std::string method = lower(textOf(settings, "quant_method"));
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 8> known{{
      {"gptq", "GPTQ"},
      {"awq", "AWQ"},
      {"bitsandbytes", "bitsandbytes"},
      {"compressed-tensors", "compressed-tensors"},
      {"fp8", "FP8"},
      {"mxfp4", "MXFP4"},
      {"eetq", "EETQ"},
      {"hqq", "HQQ"},
  }};
  for (const auto& [word, name] : known)
    if (method == word) return std::string(name);
  if (settings.is_object() && (isTrue(settings, "load_in_4bit") || isTrue(settings, "load_in_8bit")))
    return "bitsandbytes";
  return method.empty() ? "a quantizer" : method.substr(0, 40);
}

bool startsWithAny(const std::string& text, const std::vector<std::string_view>& beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(), [&](std::string_view b) { return text.starts_with(b); });
}

} // namespace

Status refuseForeignFolder(FileSystem& files, const Path& path) {
  if (!files.exists(path)) return {};
  if (!files.isDirectory(path)) {
    const std::string what = foreignFile(path.filename().string());
    return badInput(fmt::format("{}: {}", path.string(),
                                what.empty() ? "is a file; name the folder of a model, with config.json and "
                                               "model.safetensors"
                                             : what));
  }
  const bool config = files.exists(path / "config.json");
  if (files.exists(path / "adapter_config.json") && !files.exists(path / "model.safetensors") &&
      !files.exists(path / "model.safetensors.index.json"))
    return badInput(fmt::format("{}: holds an adapter (LoRA; adapter_config.json), not a model; merge it into its "
                                "model first, with Python: from "
                                "peft import AutoPeftModelForCausalLM as M; "
                                "M.from_pretrained(\"FOLDER\").merge_and_unload().save_pretrained(\"NEW\")",
                                path.string()));
  if (config) return {};
  const std::vector<std::string> names = namesIn(files, path);
  if (const std::string gguf = firstEndingWith(names, ".gguf"); !gguf.empty())
    return badInput(fmt::format("{}: {}", (path / gguf).string(), foreignFile(gguf)));
  if (files.exists(path / "model_index.json"))
    return badInput(
        fmt::format("{}: holds a pipeline of several models (model_index.json), such as one that makes images; "
                    "only language models are trained here",
                    path.string()));
  if (files.exists(path / "params.json") && !firstEndingWith(names, ".pth").empty())
    return badInput(fmt::format("{}: holds a model in its maker's own format (params.json, {}); {}", path.string(),
                                firstEndingWith(names, ".pth"), original));
  return {};
}

Status refuseForeignConfig(const Json& config, const std::string& source) {
  if (!config.is_object()) return {};
  for (const char* key : {"quantization_config", "compression_config", "quantization"}) {
    const auto entry = config.find(key);
    if (entry == config.end() || entry->is_null()) continue;
    return badInput(
        fmt::format("{}: {}: the weights are quantized by {}, and what training needs is no longer in them; {}, "
                    "or, where there is none, give the weights back their floats (model.dequantize() in "
                    "transformers) and save that",
                    source, key, quantizer(*entry), original),
        key);
  }
  const std::string type = lower(textOf(config, "model_type"));
  for (const char* key :
       {"vision_config", "audio_config", "image_token_id", "image_token_index", "vision_start_token_id"}) {
    if (!config.contains(key) || config.at(key).is_null()) continue;
    return badInput(
        fmt::format("{}: {}: the model also takes images or sound; only models of text alone are trained here: "
                    "take its language model, where its makers publish it by itself",
                    source, key),
        key);
  }
  const std::string named = type.substr(0, 40);
  if (startsWithAny(type, {"llava", "qwen2_vl", "qwen2_5_vl", "qwen3_vl", "mllama", "idefics", "paligemma", "clip",
                           "siglip", "vit", "blip", "pixtral", "internvl", "whisper"}))
    return badInput(
        fmt::format("{}: model_type '{}' is of a model that takes images or sound; only models of text alone "
                    "are trained here",
                    source, named),
        "model_type");
  if (startsWithAny(type,
                    {"bert", "roberta", "distilbert", "albert", "deberta", "electra", "xlm-roberta", "modernbert"}))
    return badInput(fmt::format("{}: model_type '{}' is of an encoder, which does not continue text; use a model of a "
                                "family that does",
                                source, named),
                    "model_type");
  if (startsWithAny(type, {"t5", "mt5", "bart", "mbart", "marian", "pegasus"}))
    return badInput(fmt::format("{}: model_type '{}' is of an encoder with a decoder; only decoders are implemented",
                                source, named),
                    "model_type");
  return {};
}

std::string adviceOnWeights(FileSystem& files, const Path& folder) {
  const std::vector<std::string> names = namesIn(files, folder);
  const auto pickle = std::find_if(names.begin(), names.end(), [](const std::string& name) {
    const std::string ending = lower(Path(name).extension().string());
    return (ending == ".bin" && name.starts_with("pytorch_model")) || ending == ".pt" || ending == ".pth" ||
           ending == ".ckpt";
  });
  if (pickle != names.end())
    return fmt::format("; {} is of PyTorch's pickles, which may hold program code and are not read: {}", *pickle,
                       asSafetensors);
  for (const char* ending : {".gguf", ".h5", ".msgpack", ".onnx"})
    if (const std::string name = firstEndingWith(names, ending); !name.empty())
      return fmt::format("; {} {}", name, foreignFile(name));
  if (files.isDirectory(folder / "snapshots"))
    return "; it is a model's folder in Hugging Face's cache: give the folder below its snapshots";
  const std::string name = firstEndingWith(names, ".safetensors");
  if (name.empty()) return "";
  return files.exists(folder / "config.json")
             ? fmt::format("; {} is there: rename it to model.safetensors, if it is the whole model", name)
             : fmt::format("; {} is there, which alone does not say what model it is of: put the model's config.json "
                           "beside it",
                           name);
}

std::string adviceOnTokenizer(FileSystem& files, const Path& folder) {
  for (const char* name : {"tokenizer.model", "vocab.json", "spiece.model", "tekken.json"})
    if (files.exists(folder / name))
      return fmt::format("; {} is there, which is another form of it: {}", name, asTokenizerFile);
  return "; put the model's tokenizer.json into the folder, or name one with tokenizer.file";
}

} // namespace millrace
