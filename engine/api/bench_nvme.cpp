#include "engine/bench_nvme.h"

#include "api/bench_machine.h"
#include "api/inference_engine.h"
#include "base/random.h"
#include "device/cpu/ops/adamw.h"
#include "probe/adamw_state.h"
#include "storage/disk_tier.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <fmt/format.h>

namespace millrace {

namespace {

/// What AdamW of a model in two planes has on disk while the weights that are streamed stay in memory.
enum StatePlane : std::size_t { Remainder, Moment1, Moment2 };
constexpr std::array<Bytes, 3> planeBytes = {2, 4, 4};
constexpr Bytes stateBytes = 10;

/// Whole granules of every plane, and a buffer of nearly 64 MiB, as training has them.
constexpr std::int64_t pieceElements = 12 * diskGranule / planeBytes[Remainder];
constexpr Bytes pieceBytes = pieceElements * stateBytes;
/// What is read and what is written at one time are different pieces.
constexpr std::int64_t leastPieces = 8;
constexpr std::size_t buffers = 3;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Result<DiskIo> ioOf(const std::string& name) {
  if (name == "auto") return DiskIo::Auto;
  if (name == "uring") return DiskIo::Uring;
  if (name == "threads") return DiskIo::Threads;
  return badInput(fmt::format("io is '{}', expected auto, uring or threads", name));
}

class NvmeBench {
 public:
  NvmeBench(ThreadPool& pool, const BenchNvmeOptions& options)
      : m_pool(pool),
        m_options(options),
        m_pieces(std::max(leastPieces, (options.bytes + pieceBytes - 1) / pieceBytes)) {}

  Status run(FileSystem& files, Log& log, BenchNvmeReport& report) {
    MILLRACE_CHECK(tell("reserving room"));
    DiskTierOptions options;
    options.directories = m_options.directories;
    options.owner = "millrace bench nvme";
    MILLRACE_TRY(options.io, ioOf(m_options.io));
    MILLRACE_CHECK(prepareMemory());
    std::vector<DiskRange> ranges;
    for (const char* name : {"remainders", "first moments", "second moments"})
      ranges.push_back({name, m_pieces * pieceElements * planeBytes[ranges.size()]});
    MILLRACE_TRY(m_tier, DiskTier::create(files, options, std::move(ranges), m_pool, log));
    std::vector<std::span<std::byte>> memory;
    for (const Buffer& buffer : m_state) memory.emplace_back(buffer.data(), static_cast<std::size_t>(buffer.bytes()));
    m_tier->registerMemory(memory);

    MILLRACE_CHECK(layDown());
    MILLRACE_TRY(report.write, measure("writing", [this](std::int64_t i) { return writeNext(i); }));
    MILLRACE_TRY(report.read, measure("reading", [this](std::int64_t i) { return readNext(i); }));
    MILLRACE_TRY(report.mixed, measure("reading and writing", [this](std::int64_t i) { return mixNext(i); }));
    MILLRACE_TRY(report.pipeline,
                 measure("reading, AdamW and writing", [this](std::int64_t i) { return updateNext(i); }));
    report.bytes = m_pieces * pieceBytes;
    report.request = diskGranule;
    report.depth = options.queueDepth;
    report.io = m_tier->description();
    report.pipelineShare = report.pipeline / report.mixed;
    report.stateBytes = stateBytes;
    report.parametersPerSecond = report.pipeline / (2 * stateBytes);
    return {};
  }

 private:
  static constexpr int parts = 6;

  Status tell(const std::string& part) {
    if (m_options.progress && !m_options.progress(part, m_part, parts))
      return failure(ErrorKind::Interrupted, "interrupted; the files are removed");
    return {};
  }

  /// Buffers for reading and as many for writing, with ordinary moments that no drive can make smaller.
  Status prepareMemory() {
    m_memory = createCpuDevice(m_pool, 0, 2 * buffers * pieceBytes + pieceElements * 6 + MiB);
    for (std::size_t b = 0; b < 2 * buffers; ++b) {
      MILLRACE_TRY(Buffer buffer, m_memory->allocate(pieceBytes, MemorySpace::Host, "state of the measurement"));
      const AdamWArgs state = viewsOf(buffer.data());
      m_pool.parallelFor(pieceElements / fillElements, [&](std::int64_t i) {
        Random random(b, static_cast<std::uint64_t>(i));
        for (std::int64_t e = i * fillElements; e < (i + 1) * fillElements; ++e) {
          const std::uint64_t bits = random.next();
          static_cast<std::int16_t*>(state.lo.data)[e] = static_cast<std::int16_t>(bits);
          static_cast<float*>(state.m.data)[e] = 1e-10f * static_cast<float>(bits >> 40);
          static_cast<float*>(state.v.data)[e] = 1e-14f * static_cast<float>(bits >> 16 & 0xFFFFFF);
        }
      });
      m_state.push_back(std::move(buffer));
    }
    MILLRACE_TRY(m_weights, m_memory->allocate(2 * pieceElements, MemorySpace::Host, "weights of the measurement"));
    MILLRACE_TRY(m_gradient, m_memory->allocate(4 * pieceElements, MemorySpace::Host, "gradients of the measurement"));
    std::fill_n(reinterpret_cast<std::uint16_t*>(m_weights.data()), pieceElements, std::uint16_t{0x3DCC});
    std::fill_n(reinterpret_cast<float*>(m_gradient.data()), pieceElements, 0.002f);
    return {};
  }

  /// A piece's planes follow each other in its buffer.
  AdamWArgs viewsOf(std::byte* state) const {
    const Shape shape{pieceElements};
    AdamWArgs args;
    args.hi = TensorView(m_weights.data(), DType::U16, shape);
    args.gradient = TensorView(m_gradient.data(), DType::F32, shape);
    args.lo = TensorView(state, DType::I16, shape);
    args.m = TensorView(state + 2 * pieceElements, DType::F32, shape);
    args.v = TensorView(state + 6 * pieceElements, DType::F32, shape);
    args.scalars = ordinaryScalars();
    args.decay = true;
    return args;
  }

  std::array<DiskTransfer, 3> transfersOf(std::int64_t index, std::size_t buffer) const {
    std::array<DiskTransfer, 3> transfers;
    std::byte* memory = m_state[buffer].data();
    for (std::size_t plane = 0; plane < transfers.size(); ++plane) {
      const Bytes bytes = pieceElements * planeBytes[plane];
      transfers[plane] = {{plane, index % m_pieces * bytes, bytes}, memory};
      memory += bytes;
    }
    return transfers;
  }

  Status startRead(std::int64_t index, std::size_t buffer) {
    m_pending[buffer] = m_tier->read(transfersOf(index, buffer));
    return {};
  }
  Status startWrite(std::int64_t index, std::size_t buffer) {
    m_pending[buffer] = m_tier->write(transfersOf(index, buffer));
    return {};
  }

  // Each starts what comes with number i and gives the bytes that it has started.

  Result<Bytes> writeNext(std::int64_t i) {
    const auto buffer = static_cast<std::size_t>(i) % buffers;
    MILLRACE_CHECK(m_pending[buffer].wait());
    MILLRACE_CHECK(startWrite(i, buffer));
    return pieceBytes;
  }
  Result<Bytes> readNext(std::int64_t i) {
    const auto buffer = static_cast<std::size_t>(i) % buffers;
    MILLRACE_CHECK(m_pending[buffer].wait());
    MILLRACE_CHECK(startRead(i, buffer));
    return pieceBytes;
  }
  Result<Bytes> mixNext(std::int64_t i) {
    MILLRACE_CHECK(readNext(i));
    const std::size_t buffer = buffers + static_cast<std::size_t>(i) % buffers;
    MILLRACE_CHECK(m_pending[buffer].wait());
    MILLRACE_CHECK(startWrite(i + m_pieces / 2, buffer));
    return 2 * pieceBytes;
  }
  /// One piece is read and one written while AdamW is at the third.
  Result<Bytes> updateNext(std::int64_t i) {
    MILLRACE_CHECK(readNext(i));
    if (i == 0) return pieceBytes;
    const std::size_t buffer = static_cast<std::size_t>(i - 1) % buffers;
    MILLRACE_CHECK(m_pending[buffer].wait());
    adamWUpdate(m_pool, viewsOf(m_state[buffer].data()), bestAdamWIsa());
    MILLRACE_CHECK(startWrite(i - 1, buffer));
    return 2 * pieceBytes;
  }

  Status finish() {
    for (DiskTier::Pending& pending : m_pending) MILLRACE_CHECK(pending.wait());
    return {};
  }

  /// Blocks written for the first time must be found and recorded, too; state is written over and over.
  Status layDown() {
    ++m_part;
    for (std::int64_t i = 0; i < m_pieces; ++i) {
      MILLRACE_CHECK(tell("laying down"));
      MILLRACE_CHECK(writeNext(i));
    }
    return finish();
  }

  template <class Next>
  Result<double> measure(const std::string& what, const Next& next) {
    ++m_part;
    Bytes bytes = 0;
    const double began = now();
    for (std::int64_t i = 0; now() - began < m_options.seconds || i < 2; ++i) {
      MILLRACE_CHECK(tell(what));
      MILLRACE_TRY(const Bytes started, next(i));
      bytes += started;
    }
    MILLRACE_CHECK(finish());
    return static_cast<double>(bytes) / std::max(now() - began, 1e-9);
  }

  static constexpr std::int64_t fillElements = 1 << 16;
  static_assert(pieceElements % fillElements == 0);

  ThreadPool& m_pool;
  const BenchNvmeOptions& m_options;
  const std::int64_t m_pieces;
  int m_part = 0;
  std::unique_ptr<Device> m_memory;
  std::vector<Buffer> m_state;
  Buffer m_weights, m_gradient;
  std::unique_ptr<DiskTier> m_tier;
  std::array<DiskTier::Pending, 2 * buffers> m_pending; // before the tier and the memory, when all ends
};

} // namespace

Result<BenchNvmeReport> benchNvme(FileSystem& files, const BenchNvmeOptions& options) {
  if (options.directories.empty()) return badInput("no directory to measure: name one on the drive or more");
  if (options.bytes < 1 || !(options.seconds > 0)) return badInput("bytes and seconds: expected more than 0 of each");
  for (const Path& directory : options.directories)
    if (!files.isDirectory(directory))
      return badInput(
          fmt::format("{}: is no folder; name an existing one on the drive to measure", directory.string()));
  ComputeOptions host;
  host.device = "cpu";
  host.threads = options.threads;
  MILLRACE_TRY(const ComputeLimits limits, computeLimits(host));
  ThreadPool pool(limits.threads);
  BenchNvmeReport report;
  report.machine = benchMachineOf(limits.profile, limits.threads);
  report.machine.instructionSet = toString(bestAdamWIsa());
  report.directories = options.directories;
  Log log;
  log.addListener([&](LogLevel level, std::string_view text) {
    if (level != LogLevel::Debug) report.notes.emplace_back(text);
  });
  MILLRACE_CHECK(NvmeBench(pool, options).run(files, log, report));
  return report;
}

std::string toJson(const BenchNvmeReport& report) {
  Json json;
  json["machine"] = toJson(report.machine);
  json["directories"] = Json::array();
  for (const Path& directory : report.directories) json["directories"].push_back(directory.string());
  json["bytes"] = report.bytes;
  json["request_bytes"] = report.request;
  json["depth"] = report.depth;
  json["io"] = report.io;
  json["read_bytes_per_second"] = report.read;
  json["write_bytes_per_second"] = report.write;
  json["mixed_bytes_per_second"] = report.mixed;
  json["pipeline"] = {{"bytes_per_second", report.pipeline},
                      {"share_of_mixed", report.pipelineShare},
                      {"state_bytes_per_parameter", report.stateBytes},
                      {"parameters_per_second", report.parametersPerSecond}};
  json["notes"] = report.notes;
  return json.dump(2);
}

} // namespace millrace
