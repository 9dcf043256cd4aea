// The machine's topology as an item model: its parts, each below what it is attached to, and what is known of them. GUI
// thread.
#pragma once

#include "engine/hardware.h"
#include "engine/topology.h"

#include <QAbstractItemModel>
#include <memory>
#include <vector>

namespace millrace::ui {

class TopologyModel final : public QAbstractItemModel {
  Q_OBJECT

 public:
  enum Column { Name, Detail, ColumnCount };

  explicit TopologyModel(QObject* parent = nullptr);

  /// Of the same machine once more only what is known of its parts is told anew: what is open in a view stays open.
  void setTopology(const TopologyNode& root, const HardwareProfile& profile);

  QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
  QModelIndex parent(const QModelIndex& child) const override;
  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  struct Entry {
    QString name, detail;
    Entry* parent = nullptr;
    int row = 0;
    std::vector<std::unique_ptr<Entry>> children;
  };

  static std::unique_ptr<Entry> entryOf(const TopologyNode& node, const HardwareProfile& profile);
  /// The same parts, with what is known of them now.
  void refresh(const QModelIndex& index, const TopologyNode& node, const HardwareProfile& profile);
  static Entry* entry(const QModelIndex& index) { return static_cast<Entry*>(index.internalPointer()); }

  TopologyNode m_topology;
  std::unique_ptr<Entry> m_root; ///< null: nothing is known yet
};

} // namespace millrace::ui
