#include "hardware/topology_tree.h"

#include "hardware/hwloc_topology.h"

#include <algorithm>
#include <fmt/format.h>

namespace millrace {

namespace {

using Nodes = std::vector<TopologyNode>;

constexpr unsigned displayClass = 0x03; // of PCI: the class's upper byte

class TreeReader {
 public:
  TreeReader(hwloc_topology_t topology, const HardwareProfile& profile)
      : m_topology(topology),
        m_profile(profile),
        m_gpuSeen(profile.nvidia.gpus.size()),
        m_diskSeen(profile.disks.size()) {}

  TopologyNode read() {
    TopologyNode machine;
    machine.name = m_profile.host;
    machine.size = m_profile.memory.total;
    if (m_topology) addChildren(hwloc_get_root_obj(m_topology), "", machine.children);
    addUnseen(machine.children);
    return machine;
  }

 private:
  /// pciAddress: of the device that the object belongs to; empty: none.
  void addChildren(hwloc_obj_t object, const std::string& pciAddress, Nodes& into) {
    for (hwloc_obj_t child = object->memory_first_child; child; child = child->next_sibling) add(child, "", into);
    Nodes parts;
    for (hwloc_obj_t child = object->first_child; child; child = child->next_sibling) add(child, "", parts);
    fold(std::move(parts), into);
    for (hwloc_obj_t child = object->io_first_child; child; child = child->next_sibling) add(child, pciAddress, into);
  }

  /// What is no kind of ours stands for what is in it: groups, dies, bridges.
  void add(hwloc_obj_t object, const std::string& pciAddress, Nodes& into) {
    TopologyNode node;
    node.index = static_cast<int>(object->logical_index);
    switch (object->type) {
    case HWLOC_OBJ_PACKAGE:
      node.kind = TopologyKind::Package;
      node.name = infoOf(object, "CPUModel", m_profile.cpu.name);
      break;
    case HWLOC_OBJ_NUMANODE:
      node.kind = TopologyKind::NumaNode;
      node.index = static_cast<int>(object->os_index);
      node.size = static_cast<Bytes>(object->attr->numanode.local_memory);
      break;
    case HWLOC_OBJ_L1CACHE:
    case HWLOC_OBJ_L2CACHE:
    case HWLOC_OBJ_L3CACHE:
    case HWLOC_OBJ_L4CACHE:
      node.kind = TopologyKind::Cache;
      node.level = static_cast<int>(object->attr->cache.depth);
      node.size = static_cast<Bytes>(object->attr->cache.size);
      break;
    case HWLOC_OBJ_CORE:
      node.kind = TopologyKind::Core;
      node.threads = std::max(hwloc_get_nbobjs_inside_cpuset_by_type(m_topology, object->cpuset, HWLOC_OBJ_PU), 1);
      into.push_back(std::move(node));
      return;
    case HWLOC_OBJ_PCI_DEVICE:
      return addDevice(object, into);
    case HWLOC_OBJ_OS_DEVICE:
      if (object->attr->osdev.type == HWLOC_OBJ_OSDEV_BLOCK) addDisk(object, pciAddress, into);
      return;
    default:
      addChildren(object, pciAddress, into);
      return;
    }
    addChildren(object, pciAddress, node.children);
    into.push_back(std::move(node));
  }

  void addDevice(hwloc_obj_t object, Nodes& into) {
    const auto& pci = object->attr->pcidev;
    const std::string address = fmt::format("{:04x}:{:02x}:{:02x}.{:x}", pci.domain, pci.bus, pci.dev, pci.func);
    if (pci.class_id >> 8 != displayClass) return addChildren(object, address, into); // perhaps a disk's controller
    TopologyNode node;
    node.kind = TopologyKind::Gpu;
    node.pciAddress = address;
    node.name = infoOf(object, "PCIDevice", fmt::format("graphics card {:04x}:{:04x}", pci.vendor_id, pci.device_id));
    for (std::size_t i = 0; i < m_gpuSeen.size(); ++i)
      if (m_profile.nvidia.gpus[i].pciAddress == address) setGpu(node, i);
    into.push_back(std::move(node));
  }

  void setGpu(TopologyNode& node, std::size_t which) {
    const GpuFacts& gpu = m_profile.nvidia.gpus[which];
    m_gpuSeen[which] = true;
    node.kind = TopologyKind::Gpu;
    node.pciAddress = gpu.pciAddress;
    if (!gpu.name.empty()) node.name = gpu.name;
    node.size = gpu.memoryTotal;
    node.fact = static_cast<int>(which);
  }

  void addDisk(hwloc_obj_t object, const std::string& pciAddress, Nodes& into) {
    TopologyNode node;
    node.kind = TopologyKind::Disk;
    node.name = object->name ? object->name : "";
    node.pciAddress = pciAddress;
    try {
      node.size = std::stoll(infoOf(object, "Size", "0")) * KiB;
    } catch (const std::exception&) {
      node.size = 0; // hwloc's text is no number
    }
    for (std::size_t i = 0; i < m_diskSeen.size(); ++i)
      if (!m_diskSeen[i] && !node.name.empty() && m_profile.disks[i].device == node.name)
        addFileSystem(i, node.children);
    into.push_back(std::move(node));
  }

  /// Folders of one file system share a node.
  void addFileSystem(std::size_t which, Nodes& into) {
    const DiskFacts& disk = m_profile.disks[which];
    m_diskSeen[which] = true;
    for (const TopologyNode& other : into)
      if (other.kind == TopologyKind::FileSystem && other.name == disk.mountPoint) return;
    TopologyNode node;
    node.kind = TopologyKind::FileSystem;
    node.name = disk.mountPoint;
    node.size = disk.total;
    node.fact = static_cast<int>(which);
    into.push_back(std::move(node));
  }

  void addUnseen(Nodes& into) {
    for (std::size_t i = 0; i < m_gpuSeen.size(); ++i)
      if (!m_gpuSeen[i]) setGpu(into.emplace_back(), i);
    for (std::size_t i = 0; i < m_diskSeen.size(); ++i)
      if (!m_diskSeen[i]) addFileSystem(i, into);
  }

  /// Neighbours that differ in their number alone become one with a count.
  static void fold(Nodes nodes, Nodes& into) {
    for (TopologyNode& node : nodes) {
      if (!into.empty() && isAlike(into.back(), node))
        into.back().count += node.count;
      else
        into.push_back(std::move(node));
    }
  }

  static bool isAlike(const TopologyNode& a, const TopologyNode& b) {
    return a.kind == b.kind && a.name == b.name && a.level == b.level && a.size == b.size && a.threads == b.threads &&
           a.kind != TopologyKind::NumaNode &&
           std::equal(a.children.begin(), a.children.end(), b.children.begin(), b.children.end(),
                      [](const auto& x, const auto& y) { return x.count == y.count && isAlike(x, y); });
  }

  static std::string infoOf(hwloc_obj_t object, const char* key, const std::string& otherwise) {
    const char* text = hwloc_obj_get_info_by_name(object, key);
    return text && *text ? text : otherwise;
  }

  hwloc_topology_t m_topology;
  const HardwareProfile& m_profile;
  std::vector<bool> m_gpuSeen, m_diskSeen; ///< which of the profile's have their place
};

} // namespace

TopologyNode readTopologyTree(const HardwareProfile& profile, const Path& topologyXml) {
  const Topology topology = loadTopology(topologyXml, TopologyDevices::Kept);
  return TreeReader(topology.get(), profile).read();
}

TopologyNode machineTopology(const HardwareProfile& profile) {
  return readTopologyTree(profile, {});
}

} // namespace millrace
