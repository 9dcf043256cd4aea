#include "device/cuda/cuda_signal.h"

#include "device/cuda/cuda_error.h"

namespace millrace {

namespace {
constexpr std::size_t wordsOfPage = 1024;
}

CudaSignalWords::~CudaSignalWords() {
  Lock lock(m_mutex);
  for (std::uint32_t* page : m_pages) (void)cudaFreeHost(page);
}

std::uint32_t* CudaSignalWords::take() {
  Lock lock(m_mutex);
  if (m_free.empty()) {
    void* page = nullptr;
    cuda::check(cudaHostAlloc(&page, wordsOfPage * sizeof(std::uint32_t), cudaHostAllocMapped | cudaHostAllocPortable),
                "allocating pinned memory for signals");
    m_pages.push_back(static_cast<std::uint32_t*>(page));
    for (std::size_t i = wordsOfPage; i-- > 0;) m_free.push_back(m_pages.back() + i);
  }
  std::uint32_t* word = m_free.back();
  m_free.pop_back();
  std::atomic_ref(*word).store(0, std::memory_order_relaxed);
  return word;
}

void CudaSignalWords::giveBack(std::uint32_t* word) {
  Lock lock(m_mutex);
  m_free.push_back(word);
}

CudaSignal::CudaSignal(std::shared_ptr<CudaSignalWords> words, std::shared_ptr<CudaFailure> failure)
    : m_words(std::move(words)), m_failure(std::move(failure)), m_word(m_words->take()) {}

CudaSignal::~CudaSignal() {
  m_words->giveBack(m_word);
}

bool CudaSignal::ready() const {
  Lock lock(m_mutex);
  return m_done;
}

void CudaSignal::synchronize() {
  Lock lock(m_mutex);
  while (!m_done) m_happened.wait(m_mutex);
  if (m_error) throw EngineException(*m_error);
}

void CudaSignal::signal() {
  Lock lock(m_mutex);
  announce();
}

void CudaSignal::fail(Error error) {
  Lock lock(m_mutex);
  if (m_done) return;
  if (m_hasDependents) m_failure->set(error);
  m_error = std::move(error);
  announce();
}

void CudaSignal::addDependent() {
  Lock lock(m_mutex);
  m_hasDependents = true;
  if (m_error) m_failure->set(*m_error);
}

void CudaSignal::announce() {
  m_done = true;
  // What the host has written before must be in memory before the GPU sees the word and copies it.
  std::atomic_ref(*m_word).store(1, std::memory_order_release);
  m_happened.notifyAll();
}

} // namespace millrace
