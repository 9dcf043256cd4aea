// A file system in memory that knows what has reached the disk. powerLoss() leaves what a real disk might hold after
// one: synced bytes for certain, later ones perhaps or in part; names of synced folders for certain, later changes of a
// folder only in the order in which they were made. One thread; but reads and writes of
// open files may come from several.
#pragma once

#include "base/file.h"
#include "base/mutex.h"
#include "base/random.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace millrace::test {

enum class Loss {
  Nothing,    ///< a killed process: the system keeps all that was written
  Everything, ///< whatever was not synced is gone
  Some,       ///< by the seed
};

class MemoryFileSystem final : public FileSystem {
 public:
  /// Open files of before must not be used afterwards.
  void powerLoss(Loss loss, std::uint64_t seed = 0) {
    if (loss == Loss::Nothing) return;
    Random random(seed, "power");
    settle(*m_root, loss, random);
  }

  Result<std::unique_ptr<File>> open(const Path& path, OpenMode mode) override {
    std::shared_ptr<Node> node = find(path);
    if (node && node->folder) return badInput(path.string() + ": is a folder");
    if (!node) {
      if (mode == OpenMode::Read) return badInput(path.string() + ": no such file");
      const auto parent = find(path.parent_path());
      if (!parent || !parent->folder) return badInput(path.string() + ": no such folder");
      node = std::make_shared<Node>();
      change(*parent, [&](Entries& entries) { entries[path.filename().string()] = node; });
    }
    if (mode == OpenMode::Create) node->bytes.clear();
    return std::make_unique<MemoryFile>(path, node);
  }
  Status rename(const Path& from, const Path& to) override {
    const auto node = find(from);
    const auto source = find(from.parent_path());
    const auto target = find(to.parent_path());
    if (!node || !source || !target) return badInput(from.string() + ": cannot rename");
    if (const auto old = find(to); old && old->folder && !old->entries.empty())
      return failed(to.string() + ": folder not empty");
    if (source != target) return failed("moving between folders is not supported here");
    change(*source, [&](Entries& entries) {
      entries.erase(from.filename().string());
      entries[to.filename().string()] = node;
    });
    return {};
  }
  Status remove(const Path& path) override {
    const auto node = find(path);
    const auto parent = find(path.parent_path());
    if (!node || !parent) return {};
    if (node->folder) { // one entry after the other, as on a real disk
      while (!node->entries.empty()) MILLRACE_CHECK(remove(path / node->entries.begin()->first));
    }
    change(*parent, [&](Entries& entries) { entries.erase(path.filename().string()); });
    return {};
  }
  Status createDirectories(const Path& path) override {
    std::shared_ptr<Node> node = m_root;
    for (const Path& part : path.relative_path()) {
      auto& next = node->entries[part.string()];
      if (!next) {
        node->entries.erase(part.string());
        auto folder = std::make_shared<Node>();
        folder->folder = true;
        change(*node, [&](Entries& entries) { entries[part.string()] = folder; });
        node = folder;
      } else {
        node = next;
      }
      if (!node->folder) return badInput(path.string() + ": is a file");
    }
    return {};
  }
  Status syncDirectory(const Path& path) override {
    const auto node = find(path);
    if (!node || !node->folder) return badInput(path.string() + ": no such folder");
    node->history = {node->entries};
    return {};
  }
  Result<std::vector<std::string>> list(const Path& path) override {
    const auto node = find(path);
    if (!node || !node->folder) return badInput(path.string() + ": no such folder");
    std::vector<std::string> names;
    for (const auto& [name, entry] : node->entries) names.push_back(name);
    return names;
  }
  bool exists(const Path& path) override { return find(path) != nullptr; }
  bool isDirectory(const Path& path) override {
    const auto node = find(path);
    return node && node->folder;
  }
  Result<Bytes> freeSpace(const Path&) override { return GiB; }

 private:
  struct Node;
  using Entries = std::map<std::string, std::shared_ptr<Node>>;
  using Contents = std::vector<std::byte>;
  struct Node {
    bool folder = false;
    Mutex mutex; ///< guards the contents of a file
    Contents bytes;
    Contents synced;
    std::int64_t changes = 0; ///< stands for the time of the last one
    Entries entries;
    std::vector<Entries> history = {{}}; ///< from what is on the disk to what is
  };

  class MemoryFile final : public File {
   public:
    MemoryFile(Path path, std::shared_ptr<Node> node) : m_path(std::move(path)), m_node(std::move(node)) {}
    Status read(std::span<std::byte> destination, Bytes offset) const override {
      const Lock lock(m_node->mutex);
      const auto end = static_cast<std::size_t>(offset) + destination.size();
      if (end > m_node->bytes.size()) return badInput(m_path.string() + ": the file is truncated");
      if (!destination.empty()) std::memcpy(destination.data(), m_node->bytes.data() + offset, destination.size());
      return {};
    }
    Status write(std::span<const std::byte> source, Bytes offset) override {
      const Lock lock(m_node->mutex);
      ++m_node->changes;
      const auto end = static_cast<std::size_t>(offset) + source.size();
      if (m_node->bytes.size() < end) m_node->bytes.resize(end);
      if (!source.empty()) std::memcpy(m_node->bytes.data() + offset, source.data(), source.size());
      return {};
    }
    Result<Bytes> size() const override {
      const Lock lock(m_node->mutex);
      return static_cast<Bytes>(m_node->bytes.size());
    }
    Result<std::int64_t> modified() const override {
      const Lock lock(m_node->mutex);
      return m_node->changes;
    }
    Status truncate(Bytes size) override {
      const Lock lock(m_node->mutex);
      ++m_node->changes;
      m_node->bytes.resize(static_cast<std::size_t>(size));
      return {};
    }
    Status allocate(Bytes size) override {
      const Lock lock(m_node->mutex);
      ++m_node->changes;
      m_node->bytes.resize(std::max(m_node->bytes.size(), static_cast<std::size_t>(size)));
      return {};
    }
    Status sync() override {
      const Lock lock(m_node->mutex);
      m_node->synced = m_node->bytes;
      return {};
    }

   private:
    Path m_path;
    std::shared_ptr<Node> m_node;
  };

  template <class Change>
  static void change(Node& folder, Change apply) {
    apply(folder.entries);
    folder.history.push_back(folder.entries);
  }

  std::shared_ptr<Node> find(const Path& path) const {
    std::shared_ptr<Node> node = m_root;
    for (const Path& part : path.relative_path()) {
      if (!node->folder) return nullptr;
      const auto entry = node->entries.find(part.string());
      if (entry == node->entries.end()) return nullptr;
      node = entry->second;
    }
    return node;
  }

  static void settle(Node& node, Loss loss, Random& random) {
    const auto pick = [&](std::size_t count) { return loss == Loss::Everything ? 0 : random.below(count); };
    if (node.folder) {
      node.entries = node.history[pick(node.history.size())];
      node.history = {node.entries};
      for (auto& [name, entry] : node.entries) settle(*entry, loss, random);
      return;
    }
    switch (pick(3)) {
    case 0:
      node.bytes = node.synced;
      break;
    case 1: // the size arrived, the data in part
      std::fill(node.bytes.begin() + static_cast<std::ptrdiff_t>(random.below(node.bytes.size() + 1)), node.bytes.end(),
                std::byte{0});
      std::copy(node.synced.begin(),
                node.synced.begin() + static_cast<std::ptrdiff_t>(std::min(node.synced.size(), node.bytes.size())),
                node.bytes.begin());
      break;
    default:
      break;
    }
    node.synced = node.bytes;
  }

  std::shared_ptr<Node> m_root = [] {
    auto root = std::make_shared<Node>();
    root->folder = true;
    return root;
  }();
};

} // namespace millrace::test
