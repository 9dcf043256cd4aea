#include "device/cuda/link_limit.h"

#include "device/cuda/cuda_error.h"
#include "device/cuda/ops/link_turns.h"

namespace millrace::cuda {

LinkLimit::LinkLimit(double bytesPerSecond) : m_bytesPerSecond(bytesPerSecond) {
  check(cudaMalloc(reinterpret_cast<void**>(&m_free), 2 * sizeof *m_free), "limiting the link");
  check(cudaMemset(m_free, 0, 2 * sizeof *m_free), "limiting the link");
  check(cudaStreamSynchronize(cudaStreamLegacy), "limiting the link");
}

LinkLimit::~LinkLimit() {
  (void)cudaFree(m_free);
}

LinkLimit::Turn::Turn() {
  check(cudaMalloc(reinterpret_cast<void**>(&m_word), sizeof *m_word), "limiting the link");
}

LinkLimit::Turn::~Turn() {
  (void)cudaFree(m_word);
}

void LinkLimit::begin(cudaStream_t stream, const Turn& turn, LinkWay way, Bytes bytes) {
  const auto length = static_cast<unsigned long long>(1e9 * static_cast<double>(bytes) / m_bytesPerSecond);
  takeTurn(stream, m_free + (way == LinkWay::In ? 0 : 1), turn.word(), length);
}

void LinkLimit::end(cudaStream_t stream, const Turn& turn) {
  awaitTurn(stream, turn.word());
}

} // namespace millrace::cuda
