#include "device/cpu/cpu_kernels.h"

#include "device/cpu/ops/activation.h"
#include "device/cpu/ops/adamw.h"
#include "device/cpu/ops/attention.h"
#include "device/cpu/ops/attention_backward.h"
#include "device/cpu/ops/bias_gradient.h"
#include "device/cpu/ops/convert.h"
#include "device/cpu/ops/cross_entropy.h"
#include "device/cpu/ops/embedding.h"
#include "device/cpu/ops/expert_rows.h"
#include "device/cpu/ops/gated_activation.h"
#include "device/cpu/ops/grouped_matmul.h"
#include "device/cpu/ops/layer_norm.h"
#include "device/cpu/ops/matmul.h"
#include "device/cpu/ops/reduce.h"
#include "device/cpu/ops/rms_norm.h"
#include "device/cpu/ops/rope.h"
#include "device/cpu/ops/route.h"
#include "device/cpu/ops/softcap.h"

namespace millrace {

void CpuKernels::matmul(Stream& stream, const MatmulArgs& args) {
  stream.hostTask([this, args] { cpu::matmul(m_pool, args); });
}

void CpuKernels::biasGradient(Stream& stream, const BiasGradientArgs& args) {
  stream.hostTask([this, args] { cpu::biasGradient(m_pool, args); });
}

void CpuKernels::rmsNorm(Stream& stream, const RmsNormArgs& args) {
  stream.hostTask([this, args] { cpu::rmsNorm(m_pool, args); });
}

void CpuKernels::rmsNormBackward(Stream& stream, const RmsNormBackwardArgs& args) {
  stream.hostTask([this, args] { cpu::rmsNormBackward(m_pool, args); });
}

void CpuKernels::layerNorm(Stream& stream, const LayerNormArgs& args) {
  stream.hostTask([this, args] { cpu::layerNorm(m_pool, args); });
}

void CpuKernels::layerNormBackward(Stream& stream, const LayerNormBackwardArgs& args) {
  stream.hostTask([this, args] { cpu::layerNormBackward(m_pool, args); });
}

void CpuKernels::rope(Stream& stream, const RopeArgs& args) {
  stream.hostTask([this, args] { cpu::rope(m_pool, args); });
}

void CpuKernels::attention(Stream& stream, const AttentionArgs& args) {
  stream.hostTask([this, args] { cpu::attention(m_pool, args); });
}

void CpuKernels::attentionBackward(Stream& stream, const AttentionBackwardArgs& args) {
  stream.hostTask([this, args] { cpu::attentionBackward(m_pool, args); });
}

void CpuKernels::gatedActivation(Stream& stream, const GatedActivationArgs& args) {
  stream.hostTask([this, args] { cpu::gatedActivation(m_pool, args); });
}

void CpuKernels::gatedActivationBackward(Stream& stream, const GatedActivationBackwardArgs& args) {
  stream.hostTask([this, args] { cpu::gatedActivationBackward(m_pool, args); });
}

void CpuKernels::activation(Stream& stream, const ActivationArgs& args) {
  stream.hostTask([this, args] { cpu::activation(m_pool, args); });
}

void CpuKernels::activationBackward(Stream& stream, const ActivationBackwardArgs& args) {
  stream.hostTask([this, args] { cpu::activationBackward(m_pool, args); });
}

void CpuKernels::embedding(Stream& stream, const EmbeddingArgs& args) {
  stream.hostTask([this, args] { cpu::embedding(m_pool, args); });
}

void CpuKernels::embeddingBackward(Stream& stream, const EmbeddingBackwardArgs& args) {
  stream.hostTask([this, args] { cpu::embeddingBackward(m_pool, args); });
}

void CpuKernels::addRows(Stream& stream, const AddRowsArgs& args) {
  stream.hostTask([this, args] { cpu::addRows(m_pool, args); });
}

void CpuKernels::crossEntropy(Stream& stream, const CrossEntropyArgs& args) {
  stream.hostTask([this, args] { cpu::crossEntropy(m_pool, args); });
}

void CpuKernels::softcap(Stream& stream, const SoftcapArgs& args) {
  stream.hostTask([this, args] { cpu::softcap(m_pool, args); });
}

void CpuKernels::sum(Stream& stream, const SumArgs& args) {
  stream.hostTask([this, args] { cpu::sum(m_pool, args); });
}

void CpuKernels::sumOfSquares(Stream& stream, const SumOfSquaresArgs& args) {
  stream.hostTask([this, args] { cpu::sumOfSquares(m_pool, args); });
}

void CpuKernels::convert(Stream& stream, const ConvertArgs& args) {
  stream.hostTask([this, args] { cpu::convert(m_pool, args); });
}

void CpuKernels::route(Stream& stream, const RouteArgs& args) {
  stream.hostTask([this, args] { cpu::route(m_pool, args); });
}

void CpuKernels::routeBackward(Stream& stream, const RouteBackwardArgs& args) {
  stream.hostTask([this, args] { cpu::routeBackward(m_pool, args); });
}

void CpuKernels::groupedMatmul(Stream& stream, const GroupedMatmulArgs& args) {
  stream.hostTask([this, args] { cpu::groupedMatmul(m_pool, args); });
}

void CpuKernels::groupedWeightGradient(Stream& stream, const GroupedWeightGradientArgs& args) {
  stream.hostTask([this, args] { cpu::groupedWeightGradient(m_pool, args); });
}

void CpuKernels::combineRows(Stream& stream, const CombineRowsArgs& args) {
  stream.hostTask([this, args] { cpu::combineRows(m_pool, args); });
}

void CpuKernels::weighRows(Stream& stream, const WeighRowsArgs& args) {
  stream.hostTask([this, args] { cpu::weighRows(m_pool, args); });
}

void CpuKernels::adamW(Stream& stream, const AdamWArgs& args) {
  stream.hostTask([this, args] { adamWUpdate(m_pool, args, bestAdamWIsa()); });
}

} // namespace millrace
