#include "engine/bench_nvme.h"

#include "api/bench_machine.h"
#include "api/inference_engine.h"
#include "base/random.h"
#include "optim/disk_updater.h"
#include "probe/adamw_state.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <fmt/format.h>

namespace millrace {

namespace {

/// What AdamW of a model in two planes has on disk while the weights that are streamed stay in memory.
enum StatePlane : std::size_t { Remainder, Moment1, Moment2 };
constexpr std::array<Bytes, 3> planeBytes = {2, 4, 4};
constexpr std::array planeNames = {"remainders", "first moments", "second moments"};
constexpr Bytes stateBytes = 10;

/// Whole granules of every plane, and a buffer of nearly 64 MiB, as training has them.
constexpr std::int64_t pieceElements = 12 * diskGranule / planeBytes[Remainder];
constexpr Bytes pieceBytes = pieceElements * stateBytes;
/// What is updated as one, with planes of its own.
constexpr std::int64_t blockPieces = 4;
constexpr std::int64_t blockElements = blockPieces * pieceElements;
constexpr Bytes blockBytes = blockElements * stateBytes;
/// What is read and what is written at one time are different pieces, and what is updated and what waits different
/// blocks.
constexpr std::int64_t leastBlocks = 3;
constexpr std::size_t buffers = 3;
constexpr int queueDepth = 64;
constexpr double gradientSize = 0.002;

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
        m_blocks(std::max(leastBlocks, (options.bytes + blockBytes - 1) / blockBytes)) {}

  Status run(FileSystem& files, Log& log, BenchNvmeReport& report) {
    MILLRACE_CHECK(tell("reserving room"));
    MILLRACE_CHECK(prepareMemory());
    MILLRACE_CHECK(makeTier(files, log, DiskCompression::Off));
    MILLRACE_CHECK(layDown());
    MILLRACE_TRY(report.write, measure("writing", [this](std::int64_t i) { return writeNext(i); }));
    MILLRACE_TRY(report.read, measure("reading", [this](std::int64_t i) { return readNext(i); }));
    MILLRACE_TRY(report.mixed, measure("reading and writing", [this](std::int64_t i) { return mixNext(i); }));
    MILLRACE_TRY(report.pipeline, measureUpdates());
    report.bytes = m_blocks * blockBytes;
    report.request = diskGranule;
    report.depth = queueDepth;
    report.io = m_tier->description();
    report.pipelineShare = report.pipeline / report.mixed;
    report.stateBytes = stateBytes;
    report.parametersPerSecond = report.pipeline / (2 * stateBytes);
    return m_options.compression == DiskCompression::Off ? Status{} : compressed(files, log, report);
  }

 private:
  static constexpr int parts = 6;

  Status tell(const std::string& part) {
    if (m_options.progress && !m_options.progress(part, m_part, parts))
      return failure(ErrorKind::Interrupted, "interrupted; the files are removed");
    return {};
  }

  Status makeTier(FileSystem& files, Log& log, DiskCompression compression) {
    DiskTierOptions options;
    options.directories = m_options.directories;
    options.owner = "millrace bench nvme";
    options.queueDepth = queueDepth;
    options.compression = compression;
    MILLRACE_TRY(options.io, ioOf(m_options.io));
    std::vector<DiskRange> ranges;
    for (std::int64_t block = 0; block < m_blocks; ++block)
      for (std::size_t plane = 0; plane < planeBytes.size(); ++plane)
        ranges.push_back({fmt::format("{} of block {}", planeNames[plane], block), blockElements * planeBytes[plane],
                          planeNames[plane], static_cast<int>(planeBytes[plane])});
    MILLRACE_TRY(m_tier, DiskTier::create(files, options, std::move(ranges), m_pool, log));
    std::vector<std::span<std::byte>> memory;
    for (const Buffer& buffer : m_state) memory.emplace_back(buffer.data(), static_cast<std::size_t>(buffer.bytes()));
    m_tier->registerMemory(memory);
    return {};
  }

  /// Buffers for reading and as many for writing.
  Status prepareMemory() {
    m_memory = createCpuDevice(m_pool, 0, 2 * buffers * pieceBytes + blockElements * 6 + MiB);
    for (std::size_t b = 0; b < 2 * buffers; ++b) {
      MILLRACE_TRY(Buffer buffer, m_memory->allocate(pieceBytes, MemorySpace::Host, "state of the measurement"));
      m_state.push_back(std::move(buffer));
      fillState(b);
    }
    MILLRACE_TRY(m_weights, m_memory->allocate(2 * blockElements, MemorySpace::Host, "weights of the measurement"));
    MILLRACE_TRY(m_gradient, m_memory->allocate(4 * blockElements, MemorySpace::Host, "gradients of the measurement"));
    std::fill_n(reinterpret_cast<std::uint16_t*>(m_weights.data()), blockElements, std::uint16_t{0x3DCC});
    auto* gradient = reinterpret_cast<float*>(m_gradient.data());
    inParts(blockElements, 2 * buffers,
            [&](Random& random, std::int64_t e) { gradient[e] = static_cast<float>(gradientSize * random.normal()); });
    return {};
  }

  /// As after some training, so that neither drives nor compression are shown more than there is.
  void fillState(std::size_t buffer) {
    auto* lo = reinterpret_cast<std::int16_t*>(m_state[buffer].data());
    auto* m = reinterpret_cast<float*>(m_state[buffer].data() + 2 * pieceElements);
    float* v = m + pieceElements;
    inParts(pieceElements, buffer, [&](Random& random, std::int64_t e) {
      const double value = random.normal();
      lo[e] = static_cast<std::int16_t>(random.next());
      m[e] = static_cast<float>(gradientSize * value);
      v[e] = static_cast<float>(gradientSize * gradientSize * value * value);
    });
  }
  template <class Set>
  void inParts(std::int64_t elements, std::uint64_t seed, const Set& set) {
    m_pool.parallelFor(elements / fillElements, [&](std::int64_t i) {
      Random random(seed, static_cast<std::uint64_t>(i));
      for (std::int64_t e = i * fillElements; e < (i + 1) * fillElements; ++e) set(random, e);
    });
  }

  /// A piece's planes follow each other in its buffer.
  std::array<DiskTransfer, 3> transfersOf(std::int64_t index, std::size_t buffer) const {
    std::array<DiskTransfer, 3> transfers;
    std::byte* memory = m_state[buffer].data();
    const std::int64_t piece = index % (m_blocks * blockPieces);
    for (std::size_t plane = 0; plane < transfers.size(); ++plane) {
      const Bytes bytes = pieceElements * planeBytes[plane];
      transfers[plane] = {{rangeOf(piece / blockPieces, plane), piece % blockPieces * bytes, bytes}, memory};
      memory += bytes;
    }
    return transfers;
  }
  static std::size_t rangeOf(std::int64_t block, std::size_t plane) {
    return static_cast<std::size_t>(block) * planeBytes.size() + plane;
  }

  DiskUpdate updateOf(std::int64_t block) const {
    const Shape shape{blockElements};
    AdamWArgs args;
    args.hi = TensorView(m_weights.data(), DType::U16, shape);
    args.gradient = TensorView(m_gradient.data(), DType::F32, shape);
    args.lo = TensorView(nullptr, DType::I16, shape);
    args.m = TensorView(nullptr, DType::F32, shape);
    args.v = TensorView(nullptr, DType::F32, shape);
    args.scalars = ordinaryScalars();
    args.decay = true;
    DiskUpdate update;
    update.landed = m_landed.event();
    update.ranges = {args};
    update.onDisk = {{&AdamWArgs::lo, rangeOf(block, Remainder)},
                     {&AdamWArgs::m, rangeOf(block, Moment1)},
                     {&AdamWArgs::v, rangeOf(block, Moment2)}};
    update.done = m_memory->createHostSignal();
    return update;
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
    MILLRACE_CHECK(startWrite(i + m_blocks * blockPieces / 2, buffer));
    return 2 * pieceBytes;
  }
  Status finish() {
    for (DiskTier::Pending& pending : m_pending) MILLRACE_CHECK(pending.wait());
    return {};
  }

  /// Blocks written for the first time must be found and recorded, too; state is written over and over.
  Status layDown() {
    ++m_part;
    for (std::int64_t i = 0; i < m_blocks * blockPieces; ++i) {
      MILLRACE_CHECK(tell("laying down"));
      if (i >= std::int64_t{buffers} && m_options.compression != DiskCompression::Off) {
        const auto buffer = static_cast<std::size_t>(i) % buffers;
        MILLRACE_CHECK(m_pending[buffer].wait());
        fillState(buffer);
      }
      MILLRACE_CHECK(writeNext(i));
    }
    MILLRACE_CHECK(finish());
    for (std::size_t b = 0; b < buffers; ++b) fillState(b); // compressed, they hold something else
    return {};
  }

  Status compressed(FileSystem& files, Log& log, BenchNvmeReport& report) {
    m_tier.reset();
    MILLRACE_CHECK(makeTier(files, log, m_options.compression));
    MILLRACE_CHECK(layDown());
    const std::vector<CompressionUse> before = m_tier->compression();
    MILLRACE_TRY(report.compressedPipeline, measureUpdates());
    const std::vector<CompressionUse> after = m_tier->compression();
    for (std::size_t k = 0; k < after.size(); ++k)
      report.compression.push_back({after[k].kind, static_cast<double>(after[k].contents - before[k].contents) /
                                                       static_cast<double>(after[k].moved - before[k].moved)});
    return {};
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

  /// As in training: one update waits behind the one under way.
  Result<double> measureUpdates() {
    std::vector<std::span<std::byte>> memory;
    for (std::size_t b = 0; b < buffers; ++b)
      memory.emplace_back(m_state[b].data(), static_cast<std::size_t>(pieceBytes));
    m_landed = m_memory->createHostSignal();
    m_landed.signal();
    DiskUpdater updater(*m_tier, m_pool, memory);
    std::deque<Event> underWay;
    const auto waitForOldest = [&]() -> Status {
      const Event oldest = underWay.front();
      underWay.pop_front();
      try {
        oldest.synchronize();
      } catch (const EngineException& problem) {
        return tl::unexpected<Error>(problem.error());
      }
      return {};
    };
    ++m_part;
    Bytes bytes = 0;
    const double began = now();
    for (std::int64_t i = 0; now() - began < m_options.seconds || i < 2; ++i) {
      MILLRACE_CHECK(tell("reading, AdamW and writing"));
      if (underWay.size() == 2) MILLRACE_CHECK(waitForOldest());
      DiskUpdate update = updateOf(i % m_blocks);
      underWay.push_back(update.done.event());
      updater.submit(std::move(update));
      bytes += 2 * blockBytes;
    }
    while (!underWay.empty()) MILLRACE_CHECK(waitForOldest());
    return static_cast<double>(bytes) / std::max(now() - began, 1e-9);
  }

  static constexpr std::int64_t fillElements = 1 << 16;
  static_assert(pieceElements % fillElements == 0);

  ThreadPool& m_pool;
  const BenchNvmeOptions& m_options;
  const std::int64_t m_blocks;
  int m_part = 0;
  std::unique_ptr<Device> m_memory;
  std::vector<Buffer> m_state;
  Buffer m_weights, m_gradient;
  HostSignal m_landed; ///< gradients that are there
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
  if (!report.compression.empty()) {
    Json& compressed = json["compressed"] = {{"bytes_per_second", report.compressedPipeline}};
    for (const auto& [kind, ratio] : report.compression) compressed["ratios"][kind] = ratio;
  }
  json["notes"] = report.notes;
  return json.dump(2);
}

} // namespace millrace
