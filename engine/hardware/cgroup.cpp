#include "hardware/cgroup.h"

#include "hardware/mounts.h"

#include <algorithm>
#include <functional>

namespace millrace {

namespace {

// Version 1 writes the largest page-aligned 63-bit number for "no limit"; nothing real comes near.
constexpr Bytes unlimited = Bytes{1} << 60;

struct Hierarchy {
  int version = 0;
  std::string mountPoint;
  std::string group; ///< of this process, below the mount point; "" or "/a/b"
};

bool contains(const std::vector<std::string_view>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// The group's path below a mount whose top is `root`: in a container the mount shows a subtree of the hierarchy, while
/// /proc/self/cgroup may speak of the whole.
std::string below(std::string_view group, std::string_view root) {
  if (group.find("..") != std::string_view::npos)
    return ""; // outside of this cgroup namespace: the mount's top is next
  if (root != "/") {
    if (group.substr(0, root.size()) != root) return group == "/" ? "" : std::string(group);
    group.remove_prefix(root.size());
    if (!group.empty() && group.front() != '/') return "";
  }
  while (!group.empty() && group.back() == '/') group.remove_suffix(1);
  return std::string(group);
}

/// Hierarchies that can limit the named controller ("memory", "cpu").
std::vector<Hierarchy> hierarchies(const SystemFiles& files, std::string_view controller) {
  const auto groups = files.text("/proc/self/cgroup");
  const std::vector<Mount> mounts = readMounts(files);
  std::vector<Hierarchy> found;
  if (!groups) return found;
  for (const std::string_view line : splitLines(*groups)) { // "4:memory:/group" or "0::/group"
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const int version = controllers.empty() ? 2 : 1;
    if (version == 1 && !contains(splitAt(controllers, ','), controller)) continue;
    for (const Mount& mount : mounts) {
      if (mount.type != (version == 2 ? "cgroup2" : "cgroup")) continue;
      if (version == 1 && !contains(splitAt(mount.options, ','), controller)) continue;
      found.push_back({version, mount.mountPoint, below(line.substr(second + 1), mount.root)});
      break;
    }
  }
  return found;
}

/// Calls visit with the folder of the process's group and then of each ancestor that is mounted.
void walkUp(const Hierarchy& hierarchy, const std::function<void(const std::string&)>& visit) {
  std::string group = hierarchy.group;
  while (true) {
    visit(hierarchy.mountPoint + group);
    if (group.empty()) return;
    group.resize(group.rfind('/') == std::string::npos ? 0 : group.rfind('/'));
  }
}

Bytes statistic(std::string_view text, std::string_view key) {
  const auto words = wordsAfter(text, key);
  return words.empty() ? 0 : parseInteger(words[0]).value_or(0);
}

struct MemoryNames {
  const char* limits[2];
  const char* usage;
  const char* fileKeys[2]; ///< in memory.stat: page cache, this group and those below
};

// memory.high does not kill, but a process held there crawls: for planning it is a limit.
constexpr MemoryNames memoryNames[2] = {
    {{"/memory.limit_in_bytes", nullptr}, "/memory.usage_in_bytes", {"total_inactive_file", "total_active_file"}},
    {{"/memory.max", "/memory.high"}, "/memory.current", {"inactive_file", "active_file"}},
};

} // namespace

CgroupMemory cgroupMemory(const SystemFiles& files) {
  CgroupMemory result;
  const auto take = [&](Bytes limit, const std::string& source) {
    if (result.limit && *result.limit <= limit) return;
    result.limit = limit;
    result.limitSource = source;
  };
  for (const Hierarchy& hierarchy : hierarchies(files, "memory")) {
    const MemoryNames& names = memoryNames[hierarchy.version - 1];
    walkUp(hierarchy, [&](const std::string& folder) {
      const std::string statistics = files.text(folder + "/memory.stat").value_or("");
      std::optional<Bytes> limit;
      for (const char* name : names.limits) {
        if (!name) continue;
        const auto value = files.number(folder + name);
        if (!value || *value < 0 || *value >= unlimited) continue;
        take(*value, folder + name);
        limit = std::min(limit.value_or(*value), *value);
      }
      // Ancestors that a container does not see still bind it; version 1 tells of them here.
      if (hierarchy.version == 1) {
        const auto words = wordsAfter(statistics, "hierarchical_memory_limit");
        const auto value = words.empty() ? std::nullopt : parseInteger(words[0]);
        if (value && *value >= 0 && *value < unlimited) {
          take(*value, folder + "/memory.stat (hierarchical_memory_limit)");
          limit = std::min(limit.value_or(*value), *value);
        }
      }
      if (!limit) return;
      const Bytes cache = statistic(statistics, names.fileKeys[0]) + statistic(statistics, names.fileKeys[1]);
      const Bytes used = std::max<Bytes>(files.number(folder + names.usage).value_or(0) - cache, 0);
      const Bytes free = std::max<Bytes>(*limit - used, 0);
      result.free = std::min(result.free.value_or(free), free);
    });
  }
  return result;
}

CgroupCpu cgroupCpu(const SystemFiles& files) {
  CgroupCpu result;
  for (const Hierarchy& hierarchy : hierarchies(files, "cpu")) {
    walkUp(hierarchy, [&](const std::string& folder) {
      std::optional<std::int64_t> quota, period;
      std::string source;
      if (hierarchy.version == 2) {
        source = folder + "/cpu.max"; // "200000 100000" or "max 100000"
        const std::string text = files.text(source).value_or("");
        const auto words = splitWords(text);
        if (words.size() == 2) {
          quota = parseInteger(words[0]);
          period = parseInteger(words[1]);
        }
      } else {
        source = folder + "/cpu.cfs_quota_us"; // -1: none
        quota = files.number(source);
        period = files.number(folder + "/cpu.cfs_period_us");
      }
      if (!quota || !period || *quota <= 0 || *period <= 0) return;
      const double processors = static_cast<double>(*quota) / static_cast<double>(*period);
      if (result.quota && *result.quota <= processors) return;
      result.quota = processors;
      result.source = source;
    });
  }
  return result;
}

} // namespace millrace
