// The names of sets (meta.pile_set_name) that documents are of, each with an index. One thread.
#pragma once

#include "data/token_shard.h"

#include <map>
#include <string>
#include <vector>

namespace millrace {

class SetNames {
 public:
  /// names: those that are known already, by index; the first is empty.
  explicit SetNames(std::vector<std::string> names) : m_names(std::move(names)) {
    for (std::size_t i = 0; i < m_names.size(); ++i) m_indexes.emplace(m_names[i], static_cast<std::uint16_t>(i));
  }

  /// Its index, the next free one for a new name; 0 for no name, for one that is too long, and when there are too many.
  std::uint16_t indexOf(const std::string& name) {
    const auto known = m_indexes.find(name);
    if (known != m_indexes.end()) return known->second;
    if (name.size() > longestSetName || m_names.size() >= mostSets) return 0;
    const auto index = static_cast<std::uint16_t>(m_names.size());
    m_names.push_back(name);
    m_indexes.emplace(name, index);
    return index;
  }
  const std::vector<std::string>& names() const { return m_names; }

 private:
  std::vector<std::string> m_names;
  std::map<std::string, std::uint16_t> m_indexes;
};

} // namespace millrace
