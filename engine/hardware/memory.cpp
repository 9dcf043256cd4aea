#include "hardware/memory.h"

#include "hardware/cgroup.h"

#include <algorithm>

namespace millrace {

namespace {

/// The value of a line "MemTotal:  24684 kB".
std::optional<Bytes> kibibytes(std::string_view text, std::string_view key) {
  const auto words = wordsAfter(text, key);
  if (words.empty()) return std::nullopt;
  const auto value = parseInteger(words[0]);
  if (!value || *value < 0 || *value > (INT64_MAX >> 10)) return std::nullopt;
  return *value * KiB;
}

/// The word in square brackets of "always [madvise] never".
std::string bracketed(std::string_view text) {
  const std::size_t open = text.find('[');
  const std::size_t close = text.find(']', open == std::string_view::npos ? 0 : open);
  if (open == std::string_view::npos || close == std::string_view::npos) return "";
  return std::string(text.substr(open + 1, close - open - 1));
}

} // namespace

MemoryFacts readMemoryFacts(const SystemFiles& files, std::vector<std::string>& unknown) {
  MemoryFacts memory;
  const std::string info = files.text("/proc/meminfo").value_or("");
  memory.total = kibibytes(info, "MemTotal").value_or(0);
  if (memory.total == 0) unknown.push_back("memory: /proc/meminfo does not give MemTotal");
  // Kernels before 3.14 have no MemAvailable; what is free or cache is the nearest thing.
  memory.available = kibibytes(info, "MemAvailable")
                         .value_or(kibibytes(info, "MemFree").value_or(0) + kibibytes(info, "Cached").value_or(0) +
                                   kibibytes(info, "Buffers").value_or(0));
  memory.hugePageSize = kibibytes(info, "Hugepagesize").value_or(0);
  if (const auto words = wordsAfter(info, "HugePages_Free"); !words.empty())
    memory.hugePagesFree = parseInteger(words[0]).value_or(0);
  memory.transparentHugePages = bracketed(files.text("/sys/kernel/mm/transparent_hugepage/enabled").value_or(""));

  const CgroupMemory group = cgroupMemory(files);
  memory.groupLimit = group.limit;
  memory.groupLimitSource = group.limitSource;
  memory.groupFree = group.free;
  memory.usable = std::min(memory.available, group.free.value_or(memory.available));

  const std::string limits = files.text("/proc/self/limits").value_or("");
  const auto words = wordsAfter(limits, "Max locked memory"); // soft, hard, unit
  if (words.empty())
    unknown.push_back("limit of locked memory: /proc/self/limits does not give it");
  else if (words[0] != "unlimited")
    memory.lockLimit = parseInteger(words[0]);
  return memory;
}

} // namespace millrace
