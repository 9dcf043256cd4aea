// Kernels on the GPU: each call launches the op's kernels (cuda/ops/) on its stream.
#pragma once

#include "device/cuda/ops/matmul.h"
#include "device/cuda/ops/workspace.h"
#include "device/kernels.h"

namespace millrace {

class CudaKernels final : public Kernels {
 public:
  /// Takes the workspace from the current GPU's memory; throws EngineException.
  CudaKernels();
  ~CudaKernels() override;
  CudaKernels(const CudaKernels&) = delete;
  CudaKernels& operator=(const CudaKernels&) = delete;

  void matmul(Stream& stream, const MatmulArgs& args) override;
  void biasGradient(Stream& stream, const BiasGradientArgs& args) override;
  void rmsNorm(Stream& stream, const RmsNormArgs& args) override;
  void rmsNormBackward(Stream& stream, const RmsNormBackwardArgs& args) override;
  void layerNorm(Stream& stream, const LayerNormArgs& args) override;
  void layerNormBackward(Stream& stream, const LayerNormBackwardArgs& args) override;
  void rope(Stream& stream, const RopeArgs& args) override;
  void attention(Stream& stream, const AttentionArgs& args) override;
  void attentionBackward(Stream& stream, const AttentionBackwardArgs& args) override;
  void gatedActivation(Stream& stream, const GatedActivationArgs& args) override;
  void gatedActivationBackward(Stream& stream, const GatedActivationBackwardArgs& args) override;
  void activation(Stream& stream, const ActivationArgs& args) override;
  void activationBackward(Stream& stream, const ActivationBackwardArgs& args) override;
  void embedding(Stream& stream, const EmbeddingArgs& args) override;
  void embeddingBackward(Stream& stream, const EmbeddingBackwardArgs& args) override;
  void addRows(Stream& stream, const AddRowsArgs& args) override;
  void crossEntropy(Stream& stream, const CrossEntropyArgs& args) override;
  void softcap(Stream& stream, const SoftcapArgs& args) override;
  void sum(Stream& stream, const SumArgs& args) override;
  void sumOfSquares(Stream& stream, const SumOfSquaresArgs& args) override;
  void convert(Stream& stream, const ConvertArgs& args) override;
  void route(Stream& stream, const RouteArgs& args) override;
  void routeBackward(Stream& stream, const RouteBackwardArgs& args) override;
  void groupedMatmul(Stream& stream, const GroupedMatmulArgs& args) override;
  void groupedWeightGradient(Stream& stream, const GroupedWeightGradientArgs& args) override;
  void combineRows(Stream& stream, const CombineRowsArgs& args) override;
  void weighRows(Stream& stream, const WeighRowsArgs& args) override;
  void adamW(Stream& stream, const AdamWArgs& args) override;

 private:
  cuda::Workspace m_workspace;
  cuda::Products m_products;
};

} // namespace millrace
