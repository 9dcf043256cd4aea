#include "device/cuda/ops/route.h"

#include "device/cuda/cuda_error.h"
#include "device/cuda/ops/packs.cuh"

#include <climits>

namespace millrace::cuda {

namespace {

constexpr int tokensOfBlock = 4; // a warp each
constexpr int placingThreads = 256;
static_assert(RouteArgs::mostExperts <= 32 * 32, "a lane marks its experts in one word");

struct Choices {
  const float* logits; // (T, E)
  std::int32_t* chosen;
  float* weights; // (T, K)
  int tokens, experts, choices;
  bool normalize;
};

/// A warp a token. Numbers that are none count as the least, so that all lanes agree.
__global__ void chooseKernel(Choices of) {
  const int token = static_cast<int>(blockIdx.x) * tokensOfBlock + static_cast<int>(threadIdx.y);
  if (token >= of.tokens) return;
  const int lane = static_cast<int>(threadIdx.x);
  const float* logits = of.logits + static_cast<std::int64_t>(token) * of.experts;
  std::int32_t* chosen = of.chosen + static_cast<std::int64_t>(token) * of.choices;
  unsigned taken = 0; // of experts lane, lane + 32, ...
  float largest = 0, sum = 0;
  for (int j = 0; j < of.choices; ++j) {
    float best = -INFINITY;
    int which = INT_MAX;
    for (int e = lane, i = 0; e < of.experts; e += 32, ++i) {
      if (taken >> i & 1u) continue;
      const float value = logits[e] == logits[e] ? logits[e] : -INFINITY;
      if (which == INT_MAX || value > best) {
        best = value;
        which = e;
      }
    }
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) {
      const float other = __shfl_xor_sync(0xffffffffu, best, offset);
      const int otherWhich = __shfl_xor_sync(0xffffffffu, which, offset);
      if (other > best || (other == best && otherWhich < which)) {
        best = other;
        which = otherWhich;
      }
    }
    if (which % 32 == lane) taken |= 1u << (which / 32);
    if (lane == 0) chosen[j] = which;
    if (j == 0) largest = logits[which];
    if (of.normalize) sum += expf(logits[which] - largest);
  }
  if (!of.normalize) {
    for (int e = lane; e < of.experts; e += 32) sum += expf(logits[e] - largest);
    sum = warpSum(sum);
  }
  __syncwarp(); // the choices are there
  for (int j = lane; j < of.choices; j += 32)
    of.weights[static_cast<std::int64_t>(token) * of.choices + j] = expf(logits[chosen[j]] - largest) / sum;
}

/// A block an expert.
__global__ void countKernel(const std::int32_t* chosen, int count, int* counts) {
  __shared__ int scratch[32];
  int mine = 0;
  for (int c = static_cast<int>(threadIdx.x); c < count; c += placingThreads)
    mine += chosen[c] == static_cast<int>(blockIdx.x);
  mine = blockSum(mine, scratch);
  if (threadIdx.x == 0) counts[blockIdx.x] = mine;
}

struct Places {
  const std::int32_t* chosen;
  const float* weights; // (T, K)
  const int* counts;    // (E)
  std::int32_t *rows, *tokens, *begins;
  float* rowWeights;
  int count, choices; // T K, K
};

/// A block an expert: its rows in the order of the choices.
__global__ void placeKernel(Places of) {
  __shared__ int scratch[32];
  __shared__ int ofWarp[placingThreads / 32];
  const int expert = static_cast<int>(blockIdx.x), thread = static_cast<int>(threadIdx.x);
  const int lane = thread % 32, warp = thread / 32;
  int before = 0;
  for (int e = thread; e < expert; e += placingThreads) before += of.counts[e];
  int next = blockSum(before, scratch);
  if (thread == 0) {
    of.begins[expert] = next;
    if (expert + 1 == static_cast<int>(gridDim.x)) of.begins[expert + 1] = next + of.counts[expert];
  }
  for (int first = 0; first < of.count; first += placingThreads) {
    const int c = first + thread;
    const bool mine = c < of.count && of.chosen[c] == expert;
    const unsigned inWarp = __ballot_sync(0xffffffffu, mine);
    if (lane == 0) ofWarp[warp] = __popc(inWarp);
    __syncthreads();
    int row = next + __popc(inWarp & ((1u << lane) - 1));
    int all = 0;
#pragma unroll
    for (int other = 0; other < placingThreads / 32; ++other) {
      if (other < warp) row += ofWarp[other];
      all += ofWarp[other];
    }
    if (mine) {
      of.rows[c] = row;
      of.tokens[row] = c / of.choices;
      of.rowWeights[row] = of.weights[c];
    }
    next += all;
    __syncthreads(); // the counts have been read
  }
}

template <class T>
struct Gradients {
  const float* dRowWeights;
  const float* logits;
  const std::int32_t *chosen, *rows;
  const float* weights;
  T* dLogits;
  int tokens, experts, choices;
  bool normalize;
};

/// A warp a token; see the CPU's for the formula.
template <class T>
__global__ void backwardKernel(Gradients<T> of) {
  const int token = static_cast<int>(blockIdx.x) * tokensOfBlock + static_cast<int>(threadIdx.y);
  if (token >= of.tokens) return;
  const int lane = static_cast<int>(threadIdx.x);
  const std::int64_t choice = static_cast<std::int64_t>(token) * of.choices;
  const float* logits = of.logits + static_cast<std::int64_t>(token) * of.experts;
  T* out = of.dLogits + static_cast<std::int64_t>(token) * of.experts;
  float sum = 0;
  for (int j = lane; j < of.choices; j += 32) sum += of.dRowWeights[of.rows[choice + j]] * of.weights[choice + j];
  sum = warpSum(sum);
  const float best = logits[of.chosen[choice]], factor = -sum * of.weights[choice];
  for (int e = lane; e < of.experts; e += 32)
    out[e] = fromFloat<T>(of.normalize ? 0.0f : factor * expf(logits[e] - best));
  __syncwarp(); // those of the chosen are written over
  for (int j = lane; j < of.choices; j += 32)
    out[of.chosen[choice + j]] = fromFloat<T>(of.weights[choice + j] * (of.dRowWeights[of.rows[choice + j]] - sum));
}

unsigned tokenBlocks(std::int64_t tokens) {
  return static_cast<unsigned>((tokens + tokensOfBlock - 1) / tokensOfBlock);
}

} // namespace

void route(cudaStream_t stream, const RouteArgs& args, const Workspace& workspace) {
  const auto tokens = static_cast<int>(args.logits.shape[0]), experts = static_cast<int>(args.logits.shape[1]);
  const auto choices = static_cast<int>(args.experts.shape[1]);
  if (tokens == 0) return;
  auto* chosen = dataOf<std::int32_t>(args.experts);
  auto* weights = dataOf<float>(args.weights);
  const dim3 threads(32, tokensOfBlock);
  chooseKernel<<<tokenBlocks(tokens), threads, 0, stream>>>(
      Choices{dataOf<const float>(args.logits), chosen, weights, tokens, experts, choices, args.normalize});
  auto* counts = reinterpret_cast<int*>(workspace.data);
  const auto blocks = static_cast<unsigned>(experts);
  countKernel<<<blocks, placingThreads, 0, stream>>>(chosen, tokens * choices, counts);
  placeKernel<<<blocks, placingThreads, 0, stream>>>(
      Places{chosen, weights, counts, dataOf<std::int32_t>(args.rows), dataOf<std::int32_t>(args.tokens),
             dataOf<std::int32_t>(args.begins), dataOf<float>(args.rowWeights), tokens * choices, choices});
  checkLaunch("the route kernels");
}

void routeBackward(cudaStream_t stream, const RouteBackwardArgs& args) {
  if (args.logits.shape[0] == 0) return;
  dispatchActivation(args.dLogits.dtype, [&](auto element) {
    using T = decltype(element);
    const dim3 threads(32, tokensOfBlock);
    backwardKernel<T><<<tokenBlocks(args.logits.shape[0]), threads, 0, stream>>>(
        Gradients<T>{dataOf<const float>(args.dRowWeights), dataOf<const float>(args.logits),
                     dataOf<const std::int32_t>(args.experts), dataOf<const std::int32_t>(args.rows),
                     dataOf<const float>(args.weights), dataOf<T>(args.dLogits), static_cast<int>(args.logits.shape[0]),
                     static_cast<int>(args.logits.shape[1]), static_cast<int>(args.experts.shape[1]), args.normalize});
  });
  checkLaunch("the routeBackward kernel");
}

} // namespace millrace::cuda
