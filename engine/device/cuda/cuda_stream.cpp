#include "device/cuda/cuda_stream.h"

#include "device/cuda/cuda_device.h"
#include "device/cuda/cuda_error.h"
#include "device/cuda/driver.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <fmt/format.h>
#include <optional>

namespace millrace {

namespace {

struct HostTask {
  std::function<void()> run;
  std::shared_ptr<CudaFailure> failure;
};

/// On a thread of the driver, which knows no exceptions.
void CUDART_CB runHostTask(void* data) {
  const std::unique_ptr<HostTask> task(static_cast<HostTask*>(data));
  try {
    task->run();
  } catch (const EngineException& problem) {
    task->failure->set(problem.error());
  } catch (const std::exception& problem) {
    task->failure->set({ErrorKind::Failed, std::string("a host task of the GPU: ") + problem.what()});
  }
}

/// The way of a copy that goes over the link; nullopt: it stays on one side.
std::optional<cuda::LinkWay> wayOf(const void* destination, const void* source) {
  const auto onDevice = [](const void* pointer) {
    cudaPointerAttributes where{};
    cuda::check(cudaPointerGetAttributes(&where, pointer), "looking up memory");
    return where.type == cudaMemoryTypeDevice;
  };
  const bool to = onDevice(destination), from = onDevice(source);
  if (to == from) return std::nullopt;
  return to ? cuda::LinkWay::In : cuda::LinkWay::Out;
}

} // namespace

CudaStream::CudaStream(CudaDevice& device, std::string name) : m_device(device), m_name(std::move(name)) {
  activate();
  cuda::check(cudaStreamCreateWithFlags(&m_stream, cudaStreamNonBlocking), "making a stream");
  if (m_device.link()) m_turn = std::make_unique<cuda::LinkLimit::Turn>();
}

CudaStream::~CudaStream() {
  // Errors were told to whoever waited for the work; here it only has to be over.
  (void)cudaSetDevice(m_device.index());
  (void)cudaStreamSynchronize(m_stream);
  (void)cudaStreamDestroy(m_stream);
  Lock lock(m_mutex);
  for (const Span& span : m_spans) m_device.timedEvents()->giveBack(span.begin);
  if (m_open.begin) m_device.timedEvents()->giveBack(m_open.begin);
}

Device& CudaStream::device() {
  return m_device;
}

void CudaStream::activate() const {
  cuda::check(cudaSetDevice(m_device.index()), "choosing the GPU");
}

void CudaStream::begin(Doing doing, Stall cause) {
  cudaEvent_t now = m_device.timedEvents()->take();
  cuda::check(cudaEventRecord(now, m_stream), "recording a time");
  Lock lock(m_mutex);
  if (m_open.begin) {
    m_open.end = now;
    m_spans.push_back(m_open);
  }
  m_open = {.begin = now, .doing = doing, .cause = cause};
  constexpr std::size_t mostSpans = 4096; // nobody asks: what is over is added up now
  if (m_spans.size() > mostSpans) harvest();
}

void CudaStream::harvest() const {
  while (!m_spans.empty() && cudaEventQuery(m_spans.front().end) == cudaSuccess) {
    const Span& span = m_spans.front();
    float milliseconds = 0;
    if (cudaEventElapsedTime(&milliseconds, span.begin, span.end) != cudaSuccess) milliseconds = 0;
    const double seconds = 1e-3 * milliseconds;
    if (span.doing == Doing::Standing) m_use.stallSeconds[static_cast<std::size_t>(span.cause)] += seconds;
    if (span.doing == Doing::Copying || span.doing == Doing::Working) m_use.busySeconds += seconds;
    if (span.doing == Doing::Copying) {
      m_use.copySeconds += seconds;
      m_use.copiedBytes += span.bytes;
    }
    m_device.timedEvents()->giveBack(span.begin); // its end is where the next one begins
    m_spans.pop_front();
  }
}

StreamUse CudaStream::use() const {
  activate();
  Lock lock(m_mutex);
  harvest();
  return m_use;
}

cudaStream_t CudaStream::submit() {
  activate();
  bool working = false;
  {
    Lock lock(m_mutex);
    working = m_open.begin && m_open.doing == Doing::Working;
  }
  if (!working) begin(Doing::Working);
  return m_stream;
}

void CudaStream::wait(const Event& event, Stall cause) {
  while (!m_awaited.empty() && m_awaited.front().first->ready()) m_awaited.pop_front();
  if (!event.state()) return;
  activate();
  if (const auto signal = std::dynamic_pointer_cast<CudaSignal>(event.state())) {
    signal->addDependent();
    if (signal->ready()) return;
    begin(Doing::Standing, cause);
    cuda::waitForWord(m_stream, signal->word());
    begin(Doing::Nothing);
    auto passed = std::make_shared<CudaEvent>(m_device.events(), m_device.failure());
    cuda::check(cudaEventRecord(passed->get(), m_stream), "recording an event");
    m_awaited.emplace_back(std::move(passed), signal);
    return;
  }
  const auto point = std::dynamic_pointer_cast<CudaEvent>(event.state());
  assert(point && "an event of another kind of device");
  if (point->ready()) return;
  begin(Doing::Standing, cause);
  cuda::check(cudaStreamWaitEvent(m_stream, point->get(), 0), "waiting for an event");
  begin(Doing::Nothing);
}

Event CudaStream::record() {
  activate();
  bool working = false;
  {
    Lock lock(m_mutex);
    working = m_open.doing == Doing::Working;
  }
  if (working) begin(Doing::Nothing);
  auto event = std::make_shared<CudaEvent>(m_device.events(), m_device.failure());
  cuda::check(cudaEventRecord(event->get(), m_stream), "recording an event");
  return Event(std::move(event));
}

void CudaStream::copy(void* destination, const void* source, Bytes bytes) {
  if (bytes <= 0) return;
  activate();
  begin(Doing::Copying);
  const auto way = m_turn ? wayOf(destination, source) : std::nullopt;
  if (way) m_device.link()->begin(m_stream, *m_turn, *way, bytes);
  const cudaError_t status =
      cudaMemcpyAsync(destination, source, static_cast<std::size_t>(bytes), cudaMemcpyDefault, m_stream);
  if (status != cudaSuccess)
    throw EngineException(cuda::cudaFailure(status, fmt::format("a copy of {}", formatBytes(bytes))));
  if (way) m_device.link()->end(m_stream, *m_turn);
  {
    Lock lock(m_mutex);
    m_open.bytes = bytes;
  }
  begin(Doing::Nothing);
}

void CudaStream::zero(void* destination, Bytes bytes) {
  if (bytes <= 0) return;
  activate();
  cudaPointerAttributes where{};
  cuda::check(cudaPointerGetAttributes(&where, destination), "looking up memory");
  if (where.type == cudaMemoryTypeDevice)
    cuda::check(cudaMemsetAsync(destination, 0, static_cast<std::size_t>(bytes), submit()), "setting memory to zero");
  else // the GPU would write it over the bus
    hostTask([destination, bytes, &pool = m_device.pool()] {
      constexpr Bytes piece = 4 * MiB;
      pool.parallelFor((bytes + piece - 1) / piece, [&](std::int64_t i) {
        const Bytes begin = i * piece;
        std::memset(static_cast<std::byte*>(destination) + begin, 0,
                    static_cast<std::size_t>(std::min(piece, bytes - begin)));
      });
    });
}

void CudaStream::hostTask(std::function<void()> task) {
  auto held = std::make_unique<HostTask>(HostTask{std::move(task), m_device.failure()});
  cuda::check(cudaLaunchHostFunc(submit(), runHostTask, held.get()), "submitting a host task");
  (void)held.release(); // the driver's now
}

} // namespace millrace
