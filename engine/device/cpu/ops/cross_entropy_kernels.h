// The inner loop of cross_entropy.h.
#pragma once

#include "device/cpu/ops/isa.h"

namespace millrace::cpu {

/// Where the gradient goes: nowhere, over the logits as fp32, or over each row's own beginning as bf16.
enum class LogitsGradient : std::uint8_t { None, F32, BF16 };

struct CrossEntropyRows {
  float* logits = nullptr;
  std::int64_t stride = 0, vocabulary = 0;
  const std::int32_t* targets = nullptr;
  float* loss = nullptr;
  LogitsGradient gradient = LogitsGradient::None;
  float scale = 1;
  float softcap = 0;
};

MILLRACE_EACH_ISA(void crossEntropyRows(const CrossEntropyRows& args, std::int64_t begin, std::int64_t end);)

} // namespace millrace::cpu
