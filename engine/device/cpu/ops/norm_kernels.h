// The inner loops of rms_norm.h and layer_norm.h: rows [begin, end) of `width` elements.
#pragma once

#include "device/cpu/ops/isa.h"
#include "device/cpu/ops/rows.h"

namespace millrace::cpu {

struct NormRows {
  bool bf16 = false;
  std::int64_t width = 0;
  float epsilon = 0;
  float weightOffset = 0; ///< RMS norm
  Rows x, y;
  Rows residual; ///< RMS norm; data null when absent
  const void* weight = nullptr;
  const void* bias = nullptr; ///< layer norm
  float* mean = nullptr;      ///< layer norm
  float* rstd = nullptr;
};

struct NormBackwardRows {
  bool bf16 = false;
  std::int64_t width = 0;
  Rows dY, x, dX;
  Rows dResidual; ///< data null when absent
  const void* weight = nullptr;
  float weightOffset = 0;      ///< RMS norm
  const float* mean = nullptr; ///< layer norm
  const float* rstd = nullptr;
};

MILLRACE_EACH_ISA(void rmsNormRows(const NormRows& args, std::int64_t begin, std::int64_t end);
                  // dWeight, dBias: (width) sums over these rows in ascending order, written.
                  void rmsNormBackwardRows(const NormBackwardRows& args, std::int64_t begin, std::int64_t end,
                                           float* dWeight);
                  void layerNormRows(const NormRows& args, std::int64_t begin, std::int64_t end);
                  void layerNormBackwardRows(const NormBackwardRows& args, std::int64_t begin, std::int64_t end,
                                             float* dWeight, float* dBias);)

} // namespace millrace::cpu
