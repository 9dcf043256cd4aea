// Every computation that a device knows, one struct of arguments each. Callers go through ops/, which checks shapes; a
// device implements this interface (cpu/ and cuda/). All calls are asynchronous: results are readable when an event
// recorded on the stream after the call has happened. Views are never kept after the work is done.
//
// T: tokens (rows) of a micro-batch, all sequences one after the other. "activation" means fp32 or bf16, one for all of
// a call's activations and weights. Gradients of parameters are always fp32 and are ADDED to. Arithmetic inside is fp32
// or better. Results depend on shapes, dtypes and values only: never on the number of threads, addresses or earlier
// calls.
#pragma once

#include "device/stream.h"
#include "tensor/activation.h"
#include "tensor/tensor.h"

#include <cstdint>

namespace millrace {

/// c = op(a) op(b) [+ bias] [+ residual]            when accumulate is false
/// c = c + op(a) op(b)                              when accumulate is true (c fp32; bias and residual absent)
/// op is the transpose when its flag is set; op(a) is (M, K), op(b) is (K, N), c is (M, N). Rows may be strided.
/// a, b: activation dtype. c: activation dtype or fp32. tf32: a device whose matrix units take fp32 operands rounded to
/// 10 bits of fraction may multiply so; others, the CPU among them, multiply in fp32.
struct MatmulArgs {
  TensorView a, b, c;
  bool transposeA = false;
  bool transposeB = false;
  bool accumulate = false;
  TensorView bias;     ///< (N), activation dtype; optional
  TensorView residual; ///< (M, N), activation dtype; optional; may be c itself
  bool tf32 = false;
};

/// dBias[n] += sum over rows of dY, rows taken in a fixed order. dY (T, N) activation, rows may be strided; dBias (N)
/// fp32.
struct BiasGradientArgs {
  TensorView dY, dBias;
};

/// y = [residual +] x / sqrt(mean(x^2) + eps) * (weightOffset + weight) over the last dimension. x, y, residual (T, H)
/// or (T, heads, H) strided activation; weight (H); rstd (T) or (T, heads) fp32 contiguous out. y may be x or residual.
struct RmsNormArgs {
  TensorView x, weight, y, rstd;
  float epsilon = 0;
  float weightOffset = 0;
  TensorView residual = {}; ///< optional
};

/// dX = [dResidual +] gradient through the norm; dWeight (H) fp32 +=. x is the norm's input. dX may be dY or dResidual.
struct RmsNormBackwardArgs {
  TensorView dY, x, weight, rstd, dX, dWeight;
  TensorView dResidual; ///< like dX; optional
  float weightOffset = 0;
};

/// y = (x - mean) / sqrt(var + eps) * weight + bias. x, y (T, H); mean, rstd (T) fp32 out; weight, bias (H).
struct LayerNormArgs {
  TensorView x, weight, bias, y, mean, rstd;
  float epsilon = 0;
};

struct LayerNormBackwardArgs {
  TensorView dY, x, weight, mean, rstd, dX, dWeight, dBias;
  TensorView dResidual; ///< optional
};

/// Rotates pairs (i, i + D_rot/2) of the first D_rot elements of every head, Hugging Face's half-split layout, in
/// place. x (T, heads, D) strided activation; cosSin (P, D_rot) fp32: row p holds D_rot/2 cosines, then D_rot/2 sines
/// of position p; positions (T) int32, all below P. inverse: the transposed rotation, which is the backward pass.
struct RopeArgs {
  TensorView x, cosSin, positions;
  bool inverse = false;
};

/// Causal attention, never forming (T, T). q, out (B, Tq, heads, D); k, v (B, Tk, kvHeads, D), strided activation;
/// lse (B, heads, Tq) fp32 out (natural log; of scaled scores). Query i of a row sits at position Tk - Tq + i of that
/// row and sees key j iff
///   j <= position, j > position - window (window 0: no limit), and j >= documentStart[b, position].
/// documentStart (B, Tk) int32: where in the row the document of each position begins; optional (one document a row).
/// softcap above 0: scaled scores s count as softcap * tanh(s / softcap).
struct AttentionArgs {
  TensorView q, k, v, out, lse, documentStart;
  float scale = 1;
  std::int64_t window = 0;
  float softcap = 0;
};

/// Deterministic: dQ, dK, dV (shaped as q, k, v; written, not added to), with Tq = Tk = T.
/// scratch: (B, T, heads, D + 1) fp32, any contents: room for dQ in fp32 and for the row sums of dOut * out.
struct AttentionBackwardArgs {
  TensorView dOut, q, k, v, out, lse, documentStart, dQ, dK, dV, scratch;
  float scale = 1;
  std::int64_t window = 0;
  float softcap = 0;
};

/// y = act(gate) * up, with gateUp (T, 2I): gate in columns [0, I), up in [I, 2I). y (T, I).
struct GatedActivationArgs {
  TensorView gateUp, y;
  Activation activation = Activation::Silu;
};

/// dGateUp (T, 2I) from dY (T, I). dGateUp may be gateUp.
struct GatedActivationBackwardArgs {
  TensorView dY, gateUp, dGateUp;
  Activation activation = Activation::Silu;
};

/// y = act(x), any equal shapes.
struct ActivationArgs {
  TensorView x, y;
  Activation activation = Activation::Gelu;
};

/// dX = dY * act'(x). dX may be dY.
struct ActivationBackwardArgs {
  TensorView dY, x, dX;
  Activation activation = Activation::Gelu;
};

/// x[t] = scale * table[ids[t]] [+ positionTable[positionIds[t]]]. table (U, H) activation, ids (T) int32 below U; the
/// caller has checked the ids. x (T, H).
struct EmbeddingArgs {
  TensorView table, ids, x;
  TensorView positionTable, positionIds; ///< optional pair
  float scale = 1;
};

/// dTable[u] = scale * sum of dX[t] over the tokens t of row u, in ascending t. order (T) int32: tokens sorted by row,
/// then by t; starts (U + 1) int32: where each row's tokens begin in order. dX (T, H) activation; dTable (U, H) fp32,
/// written.
struct EmbeddingBackwardArgs {
  TensorView dX, order, starts, dTable;
  float scale = 1;
};

/// target[r] += source[i], where r is rows[i], or with an index the place of rows[i] in it; without rows r is i. source
/// (R, H), target (N, H) fp32; rows (R) int32, distinct, optional; index (N) int32 ascending, holds all of rows,
/// optional. The caller has checked rows.
struct AddRowsArgs {
  TensorView source, target;
  TensorView rows, index;
};

/// For each row c with targets[c] >= 0: loss[c] = logsumexp(logits[c]) - logits[c][targets[c]], and dLogits[c] =
/// (softmax(logits[c]) - onehot) * scale. Rows with target -1: loss 0, dLogits 0. logits (C, V) fp32; targets (C)
/// int32; loss (C) fp32. dLogits (C, V): absent (loss only), or fp32 on the same memory as logits, or bf16 on the same
/// memory with row stride 2V (each row's gradients at the start of its own logits). softcap above 0: the logits are
/// what SoftcapArgs made, and dLogits are the gradients of what it made them of.
struct CrossEntropyArgs {
  TensorView logits, targets, loss, dLogits;
  float scale = 1;
  float softcap = 0;
};

/// x = softcap * tanh(x / softcap) in place, softcap above 0. x (R, C) fp32, rows may be strided.
struct SoftcapArgs {
  TensorView x;
  float softcap = 1;
};

/// sum[0] += sum of x in fp64, in an order fixed by the count. x fp32, contiguous; sum (1) fp64.
struct SumArgs {
  TensorView x, sum;
};

/// sum[0] = sum of squares of x in fp64, in the order below: the same bits on every device, so that a gradient's norm
/// does not depend on where its blocks live. x fp32, contiguous; sum (1) fp64.
///
/// x is cut into pieces. The squares of a piece go to its lanes in turn, and each piece's lanes are folded: the upper
/// half is added to the lower one until one is left. The sums of the pieces go to as many lanes in turn, folded alike.
struct SumOfSquaresArgs {
  TensorView x, sum;
  static constexpr std::int64_t piece = 16384, lanes = 128;
};

/// y = x converted (fp32 <-> bf16, nearest even), or copied when the dtypes are equal. Equal shapes; rows may be
/// strided.
struct ConvertArgs {
  TensorView x, y;
};

/// The numbers of one AdamW update, computed once in double on the host and rounded to fp32; see optim/adamw.h.
struct AdamWScalars {
  float beta1 = 0, oneMinusBeta1 = 0;
  float beta2 = 0, oneMinusBeta2 = 0;
  float epsilon = 0;
  float stepSize = 0;         ///< lr / (1 - beta1^t)
  float inverseSqrtBias2 = 0; ///< 1 / sqrt(1 - beta2^t)
  float decayFactor = 1;      ///< 1 - lr * weightDecay, for parameters that decay
  float gradientScale = 1;    ///< clip factor
};

/// A range of elements with one decay setting; views (n): weight fp32, or hi (U16) and lo (I16); m, v fp32; gradient
/// fp32 or bf16.
struct AdamWArgs {
  TensorView weight; ///< fp32 state; absent with hi, lo
  TensorView hi, lo; ///< split planes; absent with weight
  TensorView m, v, gradient;
  AdamWScalars scalars;
  bool decay = false;
};

/// Which experts each of T tokens goes to: the K with the largest logits (T, E) fp32, of equal ones the first. A weight
/// is the softmax over all E of its token's logits, or with normalize over the K chosen. Each of the T K choices is a
/// row; rows are sorted by expert, and those of an expert by token. All contiguous; written:
struct RouteArgs {
  TensorView logits;
  TensorView experts;    ///< (T, K) int32, best first
  TensorView weights;    ///< (T, K) fp32
  TensorView rows;       ///< (T, K) int32: the choice's row
  TensorView tokens;     ///< (T K) int32: the row's token
  TensorView rowWeights; ///< (T K) fp32
  TensorView begins;     ///< (E + 1) int32: where each expert's rows begin
  bool normalize = false;
  static constexpr std::int64_t mostExperts = 1024;
};

/// dLogits (T, E) activation, written, from dRowWeights (T K) fp32; the rest is what RouteArgs read and wrote.
struct RouteBackwardArgs {
  TensorView dRowWeights, logits, experts, weights, rows, dLogits;
  bool normalize = false;
};

/// Products of groups of rows with a matrix each: c[r] = a[r] op(b_g) for the rows r of group g, which are
/// [begins[g], begins[g + 1]), all R of them in ascending groups. a (R, K), b (G, K, N), or (G, N, K) with transposeB,
/// contiguous, c (R, N): activation dtype. begins (G + 1) int32.
struct GroupedMatmulArgs {
  TensorView a, b, c, begins;
  bool transposeB = false;
};

/// dW_g += dY^T x over the rows of group g. dY (R, N), x (R, K) activation, dW (G, N, K) fp32 contiguous.
struct GroupedWeightGradientArgs {
  TensorView dY, x, dW, begins;
};

/// y[t] = [residual[t] +] sum over j of [weights[t, j]] x[rows[t, j]]. x (R, H), y, residual (T, H) activation; rows,
/// weights (T, K) int32, fp32. y may be residual.
struct CombineRowsArgs {
  TensorView x, rows;
  TensorView weights, residual; ///< optional
  TensorView y;
};

/// dWeights[r] = dY[r] . x[r]; then both rows are multiplied by weights[r] in place. dY, x (R, I) activation; weights,
/// dWeights (R) fp32.
struct WeighRowsArgs {
  TensorView dY, x, weights, dWeights;
};

class Kernels {
 public:
  virtual ~Kernels() = default;
  virtual void matmul(Stream& stream, const MatmulArgs& args) = 0;
  virtual void biasGradient(Stream& stream, const BiasGradientArgs& args) = 0;
  virtual void rmsNorm(Stream& stream, const RmsNormArgs& args) = 0;
  virtual void rmsNormBackward(Stream& stream, const RmsNormBackwardArgs& args) = 0;
  virtual void layerNorm(Stream& stream, const LayerNormArgs& args) = 0;
  virtual void layerNormBackward(Stream& stream, const LayerNormBackwardArgs& args) = 0;
  virtual void rope(Stream& stream, const RopeArgs& args) = 0;
  virtual void attention(Stream& stream, const AttentionArgs& args) = 0;
  virtual void attentionBackward(Stream& stream, const AttentionBackwardArgs& args) = 0;
  virtual void gatedActivation(Stream& stream, const GatedActivationArgs& args) = 0;
  virtual void gatedActivationBackward(Stream& stream, const GatedActivationBackwardArgs& args) = 0;
  virtual void activation(Stream& stream, const ActivationArgs& args) = 0;
  virtual void activationBackward(Stream& stream, const ActivationBackwardArgs& args) = 0;
  virtual void embedding(Stream& stream, const EmbeddingArgs& args) = 0;
  virtual void embeddingBackward(Stream& stream, const EmbeddingBackwardArgs& args) = 0;
  virtual void addRows(Stream& stream, const AddRowsArgs& args) = 0;
  virtual void crossEntropy(Stream& stream, const CrossEntropyArgs& args) = 0;
  virtual void softcap(Stream& stream, const SoftcapArgs& args) = 0;
  virtual void sum(Stream& stream, const SumArgs& args) = 0;
  virtual void sumOfSquares(Stream& stream, const SumOfSquaresArgs& args) = 0;
  virtual void convert(Stream& stream, const ConvertArgs& args) = 0;
  virtual void route(Stream& stream, const RouteArgs& args) = 0;
  virtual void routeBackward(Stream& stream, const RouteBackwardArgs& args) = 0;
  virtual void groupedMatmul(Stream& stream, const GroupedMatmulArgs& args) = 0;
  virtual void groupedWeightGradient(Stream& stream, const GroupedWeightGradientArgs& args) = 0;
  virtual void combineRows(Stream& stream, const CombineRowsArgs& args) = 0;
  virtual void weighRows(Stream& stream, const WeighRowsArgs& args) = 0;
  virtual void adamW(Stream& stream, const AdamWArgs& args) = 0;
};

} // namespace millrace
