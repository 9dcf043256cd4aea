#include "model/family_defaults.h"

#include <cassert>

namespace millrace {

const FamilyDefaults& familyDefaults(ModelFamily family) {
  static constexpr FamilyDefaults llama{.vocabulary = 32000,
                                        .hidden = 4096,
                                        .inner = 11008,
                                        .layers = 32,
                                        .heads = 32,
                                        .positions = 2048,
                                        .epsilon = 1e-6,
                                        .bos = 1,
                                        .eos = 2};
  static constexpr FamilyDefaults qwen2{.vocabulary = 151936,
                                        .hidden = 4096,
                                        .inner = 22016,
                                        .layers = 32,
                                        .heads = 32,
                                        .kvHeads = 32,
                                        .positions = 32768,
                                        .epsilon = 1e-6,
                                        .windowed = WindowedLayers::Chosen,
                                        .window = 4096};
  static constexpr FamilyDefaults qwen3{.vocabulary = 151936,
                                        .hidden = 4096,
                                        .inner = 22016,
                                        .layers = 32,
                                        .heads = 32,
                                        .kvHeads = 32,
                                        .headDim = 128,
                                        .positions = 32768,
                                        .epsilon = 1e-6,
                                        .windowed = WindowedLayers::Chosen,
                                        .window = 4096};
  static constexpr FamilyDefaults mistral{.vocabulary = 32000,
                                          .hidden = 4096,
                                          .inner = 14336,
                                          .layers = 32,
                                          .heads = 32,
                                          .kvHeads = 8,
                                          .positions = 131072,
                                          .epsilon = 1e-6,
                                          .windowed = WindowedLayers::All,
                                          .window = 4096,
                                          .bos = 1,
                                          .eos = 2};
  static constexpr FamilyDefaults gpt2{.vocabulary = 50257,
                                       .hidden = 768,
                                       .layers = 12,
                                       .heads = 12,
                                       .positions = 1024,
                                       .epsilon = 1e-5,
                                       .activationKey = "activation_function",
                                       .activation = "gelu_new",
                                       .tied = true,
                                       .bos = 50256,
                                       .eos = 50256};
  static constexpr FamilyDefaults phi3{.vocabulary = 32064,
                                       .hidden = 3072,
                                       .inner = 8192,
                                       .layers = 32,
                                       .heads = 32,
                                       .positions = 4096,
                                       .epsilon = 1e-5,
                                       .windowed = WindowedLayers::All,
                                       .bos = 1,
                                       .eos = 32000,
                                       .pad = 32000};
  static constexpr FamilyDefaults olmo2{.vocabulary = 50304,
                                        .hidden = 4096,
                                        .inner = 11008,
                                        .layers = 32,
                                        .heads = 32,
                                        .positions = 2048,
                                        .epsilon = 1e-5,
                                        .eos = 50279,
                                        .pad = 1};
  static constexpr FamilyDefaults gemma{.vocabulary = 256000,
                                        .hidden = 3072,
                                        .inner = 24576,
                                        .layers = 28,
                                        .heads = 16,
                                        .kvHeads = 16,
                                        .headDim = 256,
                                        .positions = 8192,
                                        .epsilon = 1e-6,
                                        .activation = "gelu_pytorch_tanh",
                                        .tied = true,
                                        .bos = 2,
                                        .eos = 1,
                                        .pad = 0};
  static constexpr FamilyDefaults gemma2{.vocabulary = 256000,
                                         .hidden = 2304,
                                         .inner = 9216,
                                         .layers = 26,
                                         .heads = 8,
                                         .kvHeads = 4,
                                         .headDim = 256,
                                         .positions = 8192,
                                         .epsilon = 1e-6,
                                         .activationKey = "hidden_activation",
                                         .activation = "gelu_pytorch_tanh",
                                         .tied = true,
                                         .windowed = WindowedLayers::Alternating,
                                         .window = 4096,
                                         .bos = 2,
                                         .eos = 1,
                                         .pad = 0};
  static constexpr FamilyDefaults mixtral{.vocabulary = 32000,
                                          .hidden = 4096,
                                          .inner = 14336,
                                          .layers = 32,
                                          .heads = 32,
                                          .kvHeads = 8,
                                          .positions = 131072,
                                          .epsilon = 1e-5,
                                          .theta = 1e6,
                                          .windowed = WindowedLayers::All,
                                          .experts = 8,
                                          .chosenExperts = 2,
                                          .bos = 1,
                                          .eos = 2};
  static constexpr FamilyDefaults qwen3Moe{.vocabulary = 151936,
                                           .hidden = 2048,
                                           .inner = 768,
                                           .layers = 24,
                                           .heads = 32,
                                           .kvHeads = 4,
                                           .positions = 32768,
                                           .epsilon = 1e-6,
                                           .windowed = WindowedLayers::Switched,
                                           .window = 4096,
                                           .experts = 128,
                                           .chosenExperts = 8};
  switch (family) {
  case ModelFamily::Llama:
    return llama;
  case ModelFamily::Qwen2:
    return qwen2;
  case ModelFamily::Qwen3:
    return qwen3;
  case ModelFamily::Mistral:
    return mistral;
  case ModelFamily::Gpt2:
    return gpt2;
  case ModelFamily::Phi3:
    return phi3;
  case ModelFamily::Olmo2:
    return olmo2;
  case ModelFamily::Gemma:
    return gemma;
  case ModelFamily::Gemma2:
    return gemma2;
  case ModelFamily::Mixtral:
    return mixtral;
  case ModelFamily::Qwen3Moe:
    return qwen3Moe;
  }
  assert(false && "not a family");
  return llama;
}

} // namespace millrace
