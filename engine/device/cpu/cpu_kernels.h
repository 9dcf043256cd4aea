// Kernels on the CPU: each call becomes a task of the stream that runs the op's function (cpu/ops/) on the pool.
#pragma once

#include "base/thread_pool.h"
#include "device/kernels.h"

namespace millrace {

class CpuKernels final : public Kernels {
 public:
  explicit CpuKernels(ThreadPool& pool) : m_pool(pool) {}

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
  ThreadPool& m_pool;
};

} // namespace millrace
