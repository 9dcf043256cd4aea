// One layer of one micro-batch, ready to compute with: its tensors where the layout says, its weights, and in backward
// their gradients. Views alone; made anew for every visit.
#pragma once

#include "plan/layer_layout.h"
#include "train/linear.h"

namespace millrace {

/// A micro-batch's integers on the device.
struct SequenceViews {
  std::int64_t rows = 0;
  std::int64_t context = 0;
  TensorView positions;     ///< (T) int32
  TensorView documentStart; ///< (rows, context) int32
  TensorView rope;          ///< (positions, rotary) fp32; invalid with learned positions
};

/// The parameters of a norm and their gradients.
struct NormParameters {
  TensorView weight, bias, weightGradient, biasGradient;
};

/// The matrices of all experts, and the one that chooses among them.
struct ExpertParameters {
  Linear router;       ///< (E, H)
  TensorView up, down; ///< (E, 2 inner, H), (E, H, inner)
  TensorView upGradient, downGradient;
};

struct BoundLayer {
  const LayerLayout& layout;
  LayerLayout::Pass pass;
  std::byte* record;
  std::byte* workspace;
  const SequenceViews& sequence;
  const LayerSpec& layer;
  NormParameters norm1, norm2, attentionNorm, mlpNorm, qNorm, kNorm;
  Linear qkv, out, up, down;
  ExpertParameters experts;

  TensorView operator[](LayerTensor tensor) const {
    return layout.view(tensor, pass, record, workspace, sequence.rows, sequence.context);
  }
  /// What is projected: normed, where the architecture has a norm there.
  TensorView attentionInput() const { return normedOr(LayerTensor::Norm1, LayerTensor::Input); }
  TensorView mlpInput() const { return normedOr(LayerTensor::Norm2, LayerTensor::Mid); }
  TensorView qk() const { return normedOr(LayerTensor::Qk, LayerTensor::Qkv); }

 private:
  TensorView normedOr(LayerTensor normed, LayerTensor plain) const {
    const TensorView view = (*this)[normed];
    return view.valid() ? view : (*this)[plain];
  }
};

} // namespace millrace
