#include "device/cuda/cuda_kernels.h"

#include "device/cuda/cuda_error.h"
#include "device/cuda/cuda_stream.h"
#include "device/cuda/ops/activation.h"
#include "device/cuda/ops/adamw.h"
#include "device/cuda/ops/attention.h"
#include "device/cuda/ops/bias_gradient.h"
#include "device/cuda/ops/convert.h"
#include "device/cuda/ops/cross_entropy.h"
#include "device/cuda/ops/embedding.h"
#include "device/cuda/ops/expert_rows.h"
#include "device/cuda/ops/gated_activation.h"
#include "device/cuda/ops/grouped_matmul.h"
#include "device/cuda/ops/layer_norm.h"
#include "device/cuda/ops/rms_norm.h"
#include "device/cuda/ops/rope.h"
#include "device/cuda/ops/route.h"
#include "device/cuda/ops/softcap.h"
#include "device/cuda/ops/sums.h"

namespace millrace {

namespace {

cudaStream_t submitTo(Stream& stream) {
  return static_cast<CudaStream&>(stream).submit();
}

} // namespace

CudaKernels::CudaKernels() {
  void* data = nullptr;
  cuda::check(cudaMalloc(&data, static_cast<std::size_t>(cuda::Workspace::size)),
              "allocating the workspace of kernels");
  m_workspace.data = static_cast<std::byte*>(data);
}

CudaKernels::~CudaKernels() {
  (void)cudaFree(m_workspace.data);
}

void CudaKernels::matmul(Stream& stream, const MatmulArgs& args) {
  m_products.multiply(submitTo(stream), args, m_workspace);
}

void CudaKernels::biasGradient(Stream& stream, const BiasGradientArgs& args) {
  cuda::biasGradient(submitTo(stream), args, m_workspace);
}

void CudaKernels::rmsNorm(Stream& stream, const RmsNormArgs& args) {
  cuda::rmsNorm(submitTo(stream), args);
}

void CudaKernels::rmsNormBackward(Stream& stream, const RmsNormBackwardArgs& args) {
  cuda::rmsNormBackward(submitTo(stream), args, m_workspace);
}

void CudaKernels::layerNorm(Stream& stream, const LayerNormArgs& args) {
  cuda::layerNorm(submitTo(stream), args);
}

void CudaKernels::layerNormBackward(Stream& stream, const LayerNormBackwardArgs& args) {
  cuda::layerNormBackward(submitTo(stream), args, m_workspace);
}

void CudaKernels::rope(Stream& stream, const RopeArgs& args) {
  cuda::rope(submitTo(stream), args);
}

void CudaKernels::attention(Stream& stream, const AttentionArgs& args) {
  cuda::attention(submitTo(stream), args);
}

void CudaKernels::attentionBackward(Stream& stream, const AttentionBackwardArgs& args) {
  cuda::attentionBackward(submitTo(stream), args);
}

void CudaKernels::gatedActivation(Stream& stream, const GatedActivationArgs& args) {
  cuda::gatedActivation(submitTo(stream), args);
}

void CudaKernels::gatedActivationBackward(Stream& stream, const GatedActivationBackwardArgs& args) {
  cuda::gatedActivationBackward(submitTo(stream), args);
}

void CudaKernels::activation(Stream& stream, const ActivationArgs& args) {
  cuda::activation(submitTo(stream), args);
}

void CudaKernels::activationBackward(Stream& stream, const ActivationBackwardArgs& args) {
  cuda::activationBackward(submitTo(stream), args);
}

void CudaKernels::embedding(Stream& stream, const EmbeddingArgs& args) {
  cuda::embedding(submitTo(stream), args);
}

void CudaKernels::embeddingBackward(Stream& stream, const EmbeddingBackwardArgs& args) {
  cuda::embeddingBackward(submitTo(stream), args);
}

void CudaKernels::addRows(Stream& stream, const AddRowsArgs& args) {
  cuda::addRows(submitTo(stream), args);
}

void CudaKernels::crossEntropy(Stream& stream, const CrossEntropyArgs& args) {
  cuda::crossEntropy(submitTo(stream), args);
}

void CudaKernels::softcap(Stream& stream, const SoftcapArgs& args) {
  cuda::softcap(submitTo(stream), args);
}

void CudaKernels::sum(Stream& stream, const SumArgs& args) {
  cuda::sum(submitTo(stream), args, m_workspace);
}

void CudaKernels::sumOfSquares(Stream& stream, const SumOfSquaresArgs& args) {
  cuda::sumOfSquares(submitTo(stream), args, m_workspace);
}

void CudaKernels::convert(Stream& stream, const ConvertArgs& args) {
  cuda::convert(submitTo(stream), args);
}

void CudaKernels::route(Stream& stream, const RouteArgs& args) {
  cuda::route(submitTo(stream), args, m_workspace);
}

void CudaKernels::routeBackward(Stream& stream, const RouteBackwardArgs& args) {
  cuda::routeBackward(submitTo(stream), args);
}

void CudaKernels::groupedMatmul(Stream& stream, const GroupedMatmulArgs& args) {
  cuda::groupedMatmul(submitTo(stream), args);
}

void CudaKernels::groupedWeightGradient(Stream& stream, const GroupedWeightGradientArgs& args) {
  cuda::groupedWeightGradient(submitTo(stream), args);
}

void CudaKernels::combineRows(Stream& stream, const CombineRowsArgs& args) {
  cuda::combineRows(submitTo(stream), args);
}

void CudaKernels::weighRows(Stream& stream, const WeighRowsArgs& args) {
  cuda::weighRows(submitTo(stream), args);
}

void CudaKernels::adamW(Stream& stream, const AdamWArgs& args) {
  cuda::adamW(submitTo(stream), args);
}

} // namespace millrace
