#include "hardware/topology_model.h"

#include "hardware/machine_text.h"

namespace millrace::ui {

TopologyModel::TopologyModel(QObject* parent) : QAbstractItemModel(parent) {}

void TopologyModel::setTopology(const TopologyNode& root, const HardwareProfile& profile) {
  if (m_root && m_topology == root) return refresh(index(0, Name), root, profile);
  beginResetModel();
  m_topology = root;
  m_root = entryOf(root, profile);
  endResetModel();
}

void TopologyModel::refresh(const QModelIndex& index, const TopologyNode& node, const HardwareProfile& profile) {
  Entry& shown = *entry(index);
  QString name = nodeName(node, profile), detail = nodeDetail(node, profile);
  if (shown.name != name || shown.detail != detail) {
    shown.name = std::move(name);
    shown.detail = std::move(detail);
    Q_EMIT dataChanged(index, index.siblingAtColumn(Detail));
  }
  for (std::size_t i = 0; i < node.children.size(); ++i)
    refresh(this->index(static_cast<int>(i), Name, index), node.children[i], profile);
}

std::unique_ptr<TopologyModel::Entry> TopologyModel::entryOf(const TopologyNode& node, const HardwareProfile& profile) {
  auto made = std::make_unique<Entry>();
  made->name = nodeName(node, profile);
  made->detail = nodeDetail(node, profile);
  for (const TopologyNode& child : node.children) {
    std::unique_ptr<Entry> part = entryOf(child, profile);
    part->parent = made.get();
    part->row = static_cast<int>(made->children.size());
    made->children.push_back(std::move(part));
  }
  return made;
}

QModelIndex TopologyModel::index(int row, int column, const QModelIndex& parent) const {
  if (!hasIndex(row, column, parent)) return {};
  Entry* const found = parent.isValid() ? entry(parent)->children[static_cast<std::size_t>(row)].get() : m_root.get();
  return createIndex(row, column, found);
}

QModelIndex TopologyModel::parent(const QModelIndex& child) const {
  Entry* const above = child.isValid() ? entry(child)->parent : nullptr;
  return above ? createIndex(above->row, 0, above) : QModelIndex();
}

int TopologyModel::rowCount(const QModelIndex& parent) const {
  if (parent.column() > 0) return 0;
  if (!parent.isValid()) return m_root ? 1 : 0;
  return static_cast<int>(entry(parent)->children.size());
}

int TopologyModel::columnCount(const QModelIndex&) const {
  return ColumnCount;
}

QVariant TopologyModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || (role != Qt::DisplayRole && role != Qt::ToolTipRole)) return {};
  return index.column() == Name ? entry(index)->name : entry(index)->detail;
}

QVariant TopologyModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
  return section == Name ? tr("Part") : tr("What is known of it");
}

} // namespace millrace::ui
