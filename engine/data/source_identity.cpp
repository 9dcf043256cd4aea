#include "data/source_identity.h"

#include "data/record_reader.h"

#include <algorithm>
#include <fmt/format.h>

namespace millrace {

namespace {

// What tokens depend on besides sources and tokenizer: how records are cut and cleaned.
constexpr std::string_view readingVersion = "millrace tokens 3";

constexpr Bytes sampleSize = 64 * KiB;
constexpr Bytes samples = 16;

/// Pieces that are spread evenly from the first byte to the last; all of a small file.
Result<std::string> hashSamples(FileSystem& files, const Path& path) {
  MILLRACE_TRY(const auto file, files.open(path, OpenMode::Read));
  MILLRACE_TRY(const Bytes size, file->size());
  const Bytes count = std::min(samples, (size + sampleSize - 1) / sampleSize);
  Hasher128 hasher;
  std::vector<std::byte> piece(static_cast<std::size_t>(std::min(size, sampleSize)));
  for (Bytes i = 0; i < count; ++i) {
    const Bytes begin = count == 1 ? 0 : (size - sampleSize) / (count - 1) * i;
    const Bytes offset = i + 1 == count ? size - static_cast<Bytes>(piece.size()) : begin;
    MILLRACE_CHECK(file->read(piece, offset));
    hasher.update(piece);
  }
  return hasher.hex();
}

Result<FileIdentity> lookAt(FileSystem& files, const Path& path) {
  MILLRACE_TRY(const auto file, files.open(path, OpenMode::Read));
  FileIdentity identity;
  MILLRACE_TRY(identity.size, file->size());
  MILLRACE_TRY(identity.modified, file->modified());
  return identity;
}

} // namespace

Result<SourceIdentity> identifySources(FileSystem& files, const std::vector<SourceFile>& sources,
                                       const DataProgressCallback& progress, Bytes wholeLimit) {
  SourceIdentity all;
  for (const SourceFile& source : sources) {
    MILLRACE_TRY(FileIdentity identity, lookAt(files, source.path));
    all.bytes += identity.size;
    all.files.push_back(std::move(identity));
  }
  const bool whole = all.bytes <= wholeLimit;
  DataProgress now;
  now.total = whole ? all.bytes : samples * sampleSize * static_cast<Bytes>(sources.size());
  const auto seen = [&](Bytes bytes) -> Status {
    now.done += bytes;
    return progress && !progress(now) ? dataInterrupted() : Status{};
  };
  Hasher128 hasher;
  hasher.update(readingVersion);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    FileIdentity& identity = all.files[i];
    std::string known;
    if (whole) {
      MILLRACE_TRY(identity.hash, hashFile(files, sources[i].path, seen));
      known = identity.hash;
    } else {
      MILLRACE_TRY(known, hashSamples(files, sources[i].path));
      known += fmt::format(" {} {}", identity.size, identity.modified);
      MILLRACE_CHECK(seen(samples * sampleSize));
    }
    hasher.update(fmt::format("\n{} {}", known, fingerprintOf(sources[i])));
  }
  all.hash = hasher.hex();
  return all;
}

Error changedMeanwhile(const SourceFile& source) {
  return {ErrorKind::Failed,
          fmt::format("{}: changed while it was read; start again when it is complete", source.path.string())};
}

Status checkUnchanged(FileSystem& files, const SourceFile& source, const FileIdentity& identity) {
  MILLRACE_TRY(const FileIdentity now, lookAt(files, source.path));
  if (now.size != identity.size || now.modified != identity.modified)
    return tl::unexpected<Error>(changedMeanwhile(source));
  return {};
}

} // namespace millrace
