#include "device/cuda/cuda_error.h"
#include "device/cuda/ops/link_turns.h"

namespace millrace::cuda {

namespace {

__device__ unsigned long long nanoseconds() {
  unsigned long long now = 0;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  return now;
}

/// The link is taken from when it is free, or from now on.
__global__ void takeTurnKernel(unsigned long long* free, unsigned long long* until, unsigned long long length) {
  const unsigned long long now = nanoseconds();
  unsigned long long known = *free, begin = 0, seen = known;
  do {
    known = seen;
    begin = known > now ? known : now;
    seen = atomicCAS(free, known, begin + length);
  } while (seen != known);
  *until = begin + length;
}

__global__ void awaitTurnKernel(const unsigned long long* until) {
  while (nanoseconds() < *until) __nanosleep(5000);
}

} // namespace

void takeTurn(cudaStream_t stream, unsigned long long* free, unsigned long long* until, unsigned long long length) {
  takeTurnKernel<<<1, 1, 0, stream>>>(free, until, length);
  checkLaunch("taking a turn on the link");
}

void awaitTurn(cudaStream_t stream, const unsigned long long* until) {
  awaitTurnKernel<<<1, 1, 0, stream>>>(until);
  checkLaunch("awaiting a turn on the link");
}

} // namespace millrace::cuda
