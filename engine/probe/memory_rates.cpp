#include "probe/memory_rates.h"

#include "device/cpu/ops/adamw.h"
#include "engine/rates.h"
#include "ops/adamw.h"
#include "probe/adamw_state.h"

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace millrace {

namespace {

// Vectors of 32 bytes: one register where the processor has AVX, two elsewhere.
typedef float Vector __attribute__((vector_size(32), aligned(4), may_alias));

/// Loads w, m, v and the gradient, stores w, m and v.
void traffic(float* w, float* m, float* v, const float* g, std::int64_t count) {
  for (std::int64_t i = 0; i < count; i += 8) {
    Vector a = *reinterpret_cast<Vector*>(w + i), b = *reinterpret_cast<Vector*>(m + i);
    Vector c = *reinterpret_cast<Vector*>(v + i), d = *reinterpret_cast<const Vector*>(g + i);
    asm volatile("" : "+m"(a), "+m"(b), "+m"(c), "+m"(d)); // the compiler must not see that nothing changes
    *reinterpret_cast<Vector*>(w + i) = a;
    *reinterpret_cast<Vector*>(m + i) = b;
    *reinterpret_cast<Vector*>(v + i) = c;
  }
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) void trafficAvx2(float* w, float* m, float* v, const float* g, std::int64_t count) {
  for (std::int64_t i = 0; i < count; i += 8) {
    Vector a = *reinterpret_cast<Vector*>(w + i), b = *reinterpret_cast<Vector*>(m + i);
    Vector c = *reinterpret_cast<Vector*>(v + i), d = *reinterpret_cast<const Vector*>(g + i);
    asm volatile("" : "+x"(a), "+x"(b), "+x"(c), "+x"(d));
    *reinterpret_cast<Vector*>(w + i) = a;
    *reinterpret_cast<Vector*>(m + i) = b;
    *reinterpret_cast<Vector*>(v + i) = c;
  }
}
#endif

/// What copies go between: twice the bytes of both memories.
struct CopyBuffers {
  std::vector<Buffer> host, other;

  static Result<CopyBuffers> create(Device& device, Bytes bytes) {
    CopyBuffers buffers;
    for (int i = 0; i < 2; ++i) {
      MILLRACE_TRY(Buffer h, device.allocate(bytes, MemorySpace::Host, "the measurement of copies"));
      MILLRACE_TRY(Buffer d, device.allocate(bytes, MemorySpace::Device, "the measurement of copies"));
      buffers.host.push_back(std::move(h));
      buffers.other.push_back(std::move(d));
    }
    return buffers;
  }
};

/// Keeps both directions of a device's link busy from a thread of its own until it is stopped.
class EndlessCopies {
 public:
  EndlessCopies(Device& device, const CopyBuffers& buffers, Bytes bytes)
      : m_buffers(buffers),
        m_bytes(bytes),
        m_in(device.createStream("copy-in")),
        m_out(device.createStream("copy-out")) {
    submit();
    m_first = {m_in->record(), m_out->record()};
    m_thread = std::thread([this] { work(); });
  }
  ~EndlessCopies() { (void)stop(); }
  EndlessCopies(const EndlessCopies&) = delete;
  EndlessCopies& operator=(const EndlessCopies&) = delete;

  /// Blocks until copies are under way; throws EngineException when they cannot be made.
  void awaitFirst() const {
    for (const Event& event : m_first) event.synchronize();
  }
  /// Returns when nothing is under way; the error, if copies failed.
  Status stop() {
    m_stopping = true;
    if (m_thread.joinable()) m_thread.join();
    if (m_error) return tl::unexpected<Error>(*m_error);
    return {};
  }
  Bytes copied() const { return m_in->use().copiedBytes + m_out->use().copiedBytes; }

 private:
  void submit() {
    m_in->copy(m_buffers.other[0].data(), m_buffers.host[0].data(), m_bytes);
    m_out->copy(m_buffers.host[1].data(), m_buffers.other[1].data(), m_bytes);
  }

  /// Each stream always has one copy under way and one waiting.
  void work() {
    std::pair<Event, Event> older(m_first[0], m_first[1]);
    try {
      while (!m_stopping) {
        submit();
        const std::pair<Event, Event> newer(m_in->record(), m_out->record());
        older.first.synchronize();
        older.second.synchronize();
        older = newer;
      }
      older.first.synchronize();
      older.second.synchronize();
    } catch (const EngineException& problem) {
      m_error = problem.error(); // read after the thread has ended
    }
  }

  const CopyBuffers& m_buffers;
  Bytes m_bytes;
  std::unique_ptr<Stream> m_in, m_out;
  std::array<Event, 2> m_first;
  std::atomic<bool> m_stopping = false;
  std::optional<Error> m_error;
  std::thread m_thread;
};

} // namespace

Result<AdamWRates> measureAdamW(ThreadPool& pool, std::int64_t parameters, const Rounds& rounds,
                                const ProbeClock& clock) {
  MILLRACE_TRY(const AdamWState state, AdamWState::create(pool, parameters));
  const AdamWArgs& plain = state.plain();
  const AdamWArgs& split = state.split();
  auto* bare = &traffic;
#if defined(__x86_64__)
  if (supported(AdamWIsa::Avx2)) bare = &trafficAvx2;
#endif
  const AdamWIsa isa = bestAdamWIsa();
  std::vector<double> trafficTimes, plainTimes, splitTimes, plainShares, splitShares;
  RoundLoop loop(rounds, clock);
  while (loop.next()) {
    const double least = loop.secondsOf([&] {
      pool.parallelFor(state.pieces(), [&](std::int64_t i) {
        const std::int64_t at = i * AdamWState::pieceElements;
        bare(plain.weight.as<float>() + at, plain.m.as<float>() + at, plain.v.as<float>() + at,
             plain.gradient.as<float>() + at, AdamWState::pieceElements);
      });
    });
    const double fp32 = loop.secondsOf([&] { adamWUpdate(pool, plain, isa); });
    const double planes = loop.secondsOf([&] { adamWUpdate(pool, split, isa); });
    if (loop.warmUp()) continue;
    trafficTimes.push_back(least);
    plainTimes.push_back(fp32);
    splitTimes.push_back(planes);
    plainShares.push_back(least / fp32);
    splitShares.push_back(least / planes);
  }
  const auto count = static_cast<double>(state.count());
  AdamWRates rates;
  rates.parameters = state.count();
  rates.instructionSet = toString(isa);
  rates.traffic = count / median(trafficTimes);
  rates.fp32 = count / median(plainTimes);
  rates.split = count / median(splitTimes);
  rates.fp32Share = median(plainShares);
  rates.splitShare = median(splitShares);
  return rates;
}

Result<CopyRates> measureCopies(Device& device, Bytes bytes, const Rounds& rounds, const ProbeClock& clock) {
  MILLRACE_TRY(const CopyBuffers buffers, CopyBuffers::create(device, bytes));
  const auto in = device.createStream("copy-in");
  const auto out = device.createStream("copy-out");
  const auto copyIn = [&] { in->copy(buffers.other[0].data(), buffers.host[0].data(), bytes); };
  const auto copyOut = [&] { out->copy(buffers.host[1].data(), buffers.other[1].data(), bytes); };
  const auto wait = [&] {
    in->synchronize();
    out->synchronize();
  };
  std::vector<double> inTimes, outTimes, bothTimes;
  RoundLoop loop(rounds, clock);
  while (loop.next()) { // the warm-up touches the memory for the first time
    const double a = loop.secondsOf([&] {
      copyIn();
      wait();
    });
    const double b = loop.secondsOf([&] {
      copyOut();
      wait();
    });
    const double both = loop.secondsOf([&] {
      copyIn();
      copyOut();
      wait();
    });
    if (loop.warmUp()) continue;
    inTimes.push_back(a);
    outTimes.push_back(b);
    bothTimes.push_back(both);
  }
  const auto size = static_cast<double>(bytes);
  return CopyRates{bytes, size / median(inTimes), size / median(outTimes), 2 * size / median(bothTimes)};
}

Result<BesideCopiesRates> measureAdamWBesideCopies(ThreadPool& pool, Device& device, std::int64_t parameters,
                                                   Bytes bytes, const Rounds& rounds, const ProbeClock& clock) {
  MILLRACE_TRY(const AdamWState state, AdamWState::create(pool, parameters));
  MILLRACE_TRY(const CopyBuffers buffers, CopyBuffers::create(device, bytes));
  const AdamWIsa isa = bestAdamWIsa();
  std::vector<double> plainTimes, splitTimes;
  EndlessCopies copies(device, buffers, bytes);
  copies.awaitFirst();
  Bytes copiedBefore = 0;
  double began = 0;
  RoundLoop loop(rounds, clock);
  while (loop.next()) {
    const double fp32 = loop.secondsOf([&] { adamWUpdate(pool, state.plain(), isa); });
    const double planes = loop.secondsOf([&] { adamWUpdate(pool, state.split(), isa); });
    if (loop.warmUp()) {
      copiedBefore = copies.copied();
      began = loop.now();
      continue;
    }
    plainTimes.push_back(fp32);
    splitTimes.push_back(planes);
  }
  const double seconds = loop.now() - began;
  const Bytes copied = copies.copied() - copiedBefore;
  MILLRACE_CHECK(copies.stop());
  const auto count = static_cast<double>(state.count());
  return BesideCopiesRates{count / median(plainTimes), count / median(splitTimes),
                           static_cast<double>(copied) / seconds};
}

Result<double> measureDeviceMemory(Device& device, std::int64_t parameters, const Rounds& rounds,
                                   const ProbeClock& clock) {
  std::vector<Buffer> buffers; // before the stream, which is done with them when it ends
  const auto stream = device.createStream("device-memory");
  const auto plane = [&]() -> Result<TensorView> {
    MILLRACE_TRY(Buffer buffer, device.allocate(4 * parameters, MemorySpace::Device, "the measurement of its rate"));
    stream->zero(buffer.data(), buffer.bytes()); // on the device every value takes the same time
    TensorView view(buffer.data(), DType::F32, Shape{parameters});
    buffers.push_back(std::move(buffer));
    return view;
  };
  AdamWArgs args;
  MILLRACE_TRY(args.weight, plane());
  MILLRACE_TRY(args.m, plane());
  MILLRACE_TRY(args.v, plane());
  MILLRACE_TRY(args.gradient, plane());
  args.scalars = ordinaryScalars();
  std::vector<double> times;
  RoundLoop loop(rounds, clock);
  while (loop.next()) {
    const double seconds = loop.secondsOf([&] {
      ops::adamW(*stream, args);
      stream->synchronize();
    });
    if (!loop.warmUp()) times.push_back(seconds);
  }
  return adamWTraffic * static_cast<double>(parameters) / median(times);
}

} // namespace millrace
