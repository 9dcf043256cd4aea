#include "storage/disk_tier.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <fmt/format.h>

namespace millrace {

namespace {

constexpr const char* advice =
    "The last checkpoint is whole, where the run has one: check the drive and go on with `millrace resume RUN`, or, "
    "without this drive, with `millrace train PROJECT --branch RUN` and another memory.nvme.directories";

/// A drive is busy with so many requests of a granule, and so many cores can copy.
constexpr int mostThreads = 16;

std::vector<Bytes> bytesOf(const std::vector<DiskRange>& ranges) {
  std::vector<Bytes> bytes;
  for (const DiskRange& range : ranges) bytes.push_back(range.bytes);
  return bytes;
}

} // namespace

/// The granules of one call, and their requests.
struct DiskTier::Pending::Operation {
  struct Part {
    std::size_t granule = 0;
    DiskSlice slice;
    std::byte* memory = nullptr;
    bool untouched = false; ///< nothing to read: it has never been written

    std::span<std::byte> contents() const { return {memory, static_cast<std::size_t>(slice.bytes)}; }
  };

  Operation(DiskTier& tier_, BlockAction action_) : tier(tier_), action(action_) {}

  void add(const DiskTransfer& transfer) {
    const DiskSlice& slice = transfer.slice;
    assert(reinterpret_cast<std::uintptr_t>(transfer.memory) % pageBytes == 0);
    assert(slice.first % diskGranule == 0 && slice.first >= 0 && slice.bytes >= 0);
    assert(slice.first + slice.bytes <= tier.m_ranges[slice.range].bytes);
    assert(slice.bytes % diskGranule == 0 || slice.first + slice.bytes == tier.m_ranges[slice.range].bytes);
    for (Bytes done = 0; done < slice.bytes; done += diskGranule) {
      const DiskSlice part{slice.range, slice.first + done, std::min(diskGranule, slice.bytes - done)};
      const std::size_t granule = tier.m_granules.at(part.range, part.first);
      const bool untouched = action == BlockAction::Read && !tier.m_granules.written(granule);
      parts.push_back({granule, part, transfer.memory + done, untouched});
    }
  }

  void submit(std::size_t index, BlockGroup& to) const {
    const Part& part = parts[index];
    std::byte* memory = part.memory;
    const auto request = [&](std::size_t file, Bytes offset, Bytes bytes) {
      tier.m_io->submit({action, file, offset, memory, bytes, &to, static_cast<std::uint32_t>(index)});
      memory += bytes;
    };
    const Bytes compressed = tier.m_granules.compressed(part.granule);
    const Bytes bytes = alignUp(compressed > 0 ? compressed : part.slice.bytes, pageBytes);
    tier.m_layout.visit(part.slice.range, part.slice.first, bytes, request);
  }

  void start() {
    const auto count = static_cast<std::int64_t>(parts.size());
    if (action == BlockAction::Read) {
      for (std::size_t i = 0; i < parts.size(); ++i)
        if (!parts[i].untouched) submit(i, group);
      return;
    }
    tier.m_pool.parallelFor(count, [&](std::int64_t i) { // the first are on their way while others are summed
      const Part& part = parts[static_cast<std::size_t>(i)];
      tier.m_granules.advance(part.granule, part.contents());
      if (tier.m_compressor)
        tier.m_granules.setCompressed(part.granule,
                                      tier.m_compressor->compress(tier.m_kinds[part.slice.range], part.contents(),
                                                                  tier.m_ranges[part.slice.range].width));
      submit(static_cast<std::size_t>(i), group);
    });
  }

  Status finish() {
    group.wait();
    if (action == BlockAction::Write) return written(group.failures());
    std::vector<std::optional<Error>> faults(parts.size());
    for (const BlockGroup::Failure& failure : group.failures())
      if (!faults[failure.tag]) faults[failure.tag] = ioError(parts[failure.tag], failure.error);
    tier.m_pool.parallelFor(static_cast<std::int64_t>(parts.size()), [&](std::int64_t i) {
      const Part& part = parts[static_cast<std::size_t>(i)];
      std::optional<Error>& fault = faults[static_cast<std::size_t>(i)];
      if (part.untouched) {
        std::memset(part.memory, 0, part.contents().size());
      } else if (!fault) {
        fault = arrived(part);
      }
    });
    for (std::size_t i = 0; i < parts.size(); ++i)
      if (faults[i]) MILLRACE_CHECK(readAgain(i, *faults[i]));
    return {};
  }

  /// What failed is still in memory, so that a full disk costs nothing but time.
  Status written(std::vector<BlockGroup::Failure> failures) {
    while (!failures.empty()) {
      const auto other = std::find_if(failures.begin(), failures.end(), [](const BlockGroup::Failure& failure) {
        return failure.error.kind != ErrorKind::OutOfSpace;
      });
      const BlockGroup::Failure& first = other == failures.end() ? failures.front() : *other;
      Error error = ioError(parts[first.tag], first.error);
      if (other != failures.end() || !tier.waitForRoom(error)) return tl::unexpected<Error>(std::move(error));
      BlockGroup again;
      for (const BlockGroup::Failure& failure : failures) submit(failure.tag, again);
      again.wait();
      failures = again.failures();
    }
    return {};
  }

  /// What a cable or a memory cell did once does not end a run; it is told.
  Status readAgain(std::size_t index, const Error& fault) {
    tier.m_log.warning("Reading once more: {}", fault.message);
    ++tier.m_retries;
    BlockGroup again;
    submit(index, again);
    again.wait();
    std::optional<Error> error;
    if (!again.failures().empty()) {
      error = ioError(parts[index], again.failures().front().error);
    } else {
      error = arrived(parts[index]);
    }
    if (!error) return {};
    error->message += fmt::format(", in two readings. {}", advice);
    return tl::unexpected<Error>(std::move(*error));
  }

  std::string nameOf(const Part& part) const {
    return fmt::format("{}, bytes {} to {}", tier.m_ranges[part.slice.range].name, part.slice.first,
                       part.slice.first + part.slice.bytes);
  }

  /// The file's own words say where in it; a full disk stays one.
  Error ioError(const Part& part, const Error& error) const {
    const ErrorKind kind = error.kind == ErrorKind::OutOfSpace ? error.kind : ErrorKind::Failed;
    const std::string what = fmt::format("{} ({})", error.message, nameOf(part));
    return {kind, action == BlockAction::Write ? fmt::format("{}. {}", what, advice) : what};
  }

  /// Nothing when the contents are what was written last, as they are from then on.
  std::optional<Error> arrived(const Part& part) const {
    const Bytes compressed = tier.m_granules.compressed(part.granule);
    const bool whole = compressed == 0 || tier.m_compressor->expand(tier.m_kinds[part.slice.range], part.contents(),
                                                                    tier.m_ranges[part.slice.range].width, compressed);
    const GranuleTable::Match match =
        whole ? tier.m_granules.compare(part.granule, part.contents()) : GranuleTable::Match::No;
    if (match == GranuleTable::Match::Yes) return std::nullopt;
    std::string place;
    tier.m_layout.visit(part.slice.range, part.slice.first, part.slice.bytes,
                        [&](std::size_t file, Bytes offset, Bytes) {
                          place += fmt::format("{}{} from byte {}", place.empty() ? "" : " and ",
                                               tier.m_files->shards()[file].path.string(), offset);
                        });
    const std::string what =
        match == GranuleTable::Match::Earlier
            ? fmt::format("an earlier version than the one last written (version {}): a write was lost",
                          tier.m_granules.version(part.granule))
            : fmt::format("not what was written (version {}): the checksum differs",
                          tier.m_granules.version(part.granule));
    return Error{ErrorKind::Failed, fmt::format("{}: {}: {}", place, nameOf(part), what)};
  }

  DiskTier& tier;
  BlockAction action;
  std::vector<Part> parts;
  BlockGroup group;
};

DiskTier::Pending::Pending() = default;
DiskTier::Pending::Pending(std::unique_ptr<Operation> operation) : m_operation(std::move(operation)) {}
DiskTier::Pending::Pending(Pending&&) noexcept = default;
DiskTier::Pending& DiskTier::Pending::operator=(Pending&& other) noexcept {
  if (m_operation) m_operation->group.wait();
  m_operation = std::move(other.m_operation);
  return *this;
}
DiskTier::Pending::~Pending() {
  if (m_operation) m_operation->group.wait();
}

Status DiskTier::Pending::wait() {
  if (!m_operation) return {};
  const std::unique_ptr<Operation> operation = std::move(m_operation);
  return operation->finish();
}

bool DiskTier::Pending::ready() const {
  return !m_operation || m_operation->group.ended();
}

Result<std::unique_ptr<DiskTier>> DiskTier::create(FileSystem& files, const DiskTierOptions& options,
                                                   std::vector<DiskRange> ranges, ThreadPool& pool, Log& log) {
  if (options.directories.empty())
    return badInput("memory.nvme.directories is empty, expected the directories that state may be kept in",
                    "memory.nvme.directories");
  TierLayout layout(bytesOf(ranges), options.directories.size(), options.shardBytes);
  MILLRACE_TRY(auto made, TierFiles::create(files, options.directories, layout, options.owner, log));
  std::unique_ptr<DiskTier> tier(new DiskTier(std::move(ranges), std::move(layout), std::move(made), pool, log));
  {
    const Lock lock(tier->m_waiting);
    tier->m_waitForRoom = options.waitForRoom;
  }
  tier->prepareCompression(options.compression);
  tier->chooseIo(options);
  return tier;
}

DiskTier::DiskTier(std::vector<DiskRange> ranges, TierLayout layout, std::unique_ptr<TierFiles> files, ThreadPool& pool,
                   Log& log)
    : m_ranges(std::move(ranges)),
      m_layout(std::move(layout)),
      m_granules(bytesOf(m_ranges)),
      m_files(std::move(files)),
      m_pool(pool),
      m_log(log) {}

void DiskTier::prepareCompression(DiskCompression mode) {
  if (mode == DiskCompression::Off) return;
  std::vector<std::string> kinds;
  for (const DiskRange& range : m_ranges) {
    const auto known = std::find(kinds.begin(), kinds.end(), range.kind);
    m_kinds.push_back(static_cast<std::size_t>(known - kinds.begin()));
    if (known == kinds.end()) kinds.push_back(range.kind);
  }
  m_compressor = std::make_unique<DiskCompressor>(mode, std::move(kinds), m_pool.threads(), m_meter);
}

void DiskTier::chooseIo(const DiskTierOptions& options) {
  assert(options.queueDepth >= 1);
  if (options.io == DiskIo::Uring || (options.io == DiskIo::Auto && m_files->direct())) {
    auto io = uringBlockIo(m_files->shards(), options.queueDepth, m_meter);
    if (io) {
      m_io = std::move(*io);
      return;
    }
    m_log.warning("State on disk goes through threads. {}", io.error().message);
  }
  m_io = threadBlockIo(m_files->shards(), std::min(options.queueDepth, mostThreads), m_meter);
}

DiskTier::~DiskTier() = default;

bool DiskTier::waitForRoom(const Error& full) {
  const Lock lock(m_waiting);
  return m_waitForRoom && m_waitForRoom(full);
}

DiskTier::Pending DiskTier::start(BlockAction action, std::span<const DiskTransfer> transfers) {
  auto operation = std::make_unique<Pending::Operation>(*this, action);
  for (const DiskTransfer& transfer : transfers) operation->add(transfer);
  operation->start();
  return Pending(std::move(operation));
}

DiskTier::Pending DiskTier::read(std::span<const DiskTransfer> transfers) {
  return start(BlockAction::Read, transfers);
}

DiskTier::Pending DiskTier::write(std::span<const DiskTransfer> transfers) {
  return start(BlockAction::Write, transfers);
}

void DiskTier::registerMemory(std::span<const std::span<std::byte>> memory) {
  if (const Status done = m_io->registerMemory(memory); !done) m_log.info("{}", done.error().message);
}

DiskUse DiskTier::use() const {
  return {m_meter.use(BlockAction::Read), m_meter.use(BlockAction::Write), m_retries.load()};
}

std::vector<CompressionUse> DiskTier::compression() const {
  return m_compressor ? m_compressor->use() : std::vector<CompressionUse>{};
}

std::string DiskTier::description() const {
  return fmt::format("{}, {}, {} director{}{}", m_io->description(),
                     m_files->direct() ? "past the system's cache" : "through the system's cache",
                     m_layout.directories(), m_layout.directories() == 1 ? "y" : "ies",
                     m_compressor ? ", compressed" : "");
}

} // namespace millrace
