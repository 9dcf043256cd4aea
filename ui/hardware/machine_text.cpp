#include "hardware/machine_text.h"

#include "bridge/text.h"
#include "style/numbers.h"

#include <QCoreApplication>
#include <QLocale>
#include <QStringList>
#include <array>

namespace millrace::ui {

namespace {

struct MachineText {
  Q_DECLARE_TR_FUNCTIONS(MachineText)
};

/// Three significant digits and a decimal prefix.
QString rateText(double value, const QString& unit) {
  static constexpr std::array<const char*, 6> prefixes = {"", "k", "M", "G", "T", "P"};
  std::size_t prefix = 0;
  while (value >= 999.5 && prefix + 1 < prefixes.size()) {
    value /= 1000;
    ++prefix;
  }
  const int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return QLocale().toString(value, 'f', decimals) + QChar::Nbsp + QLatin1String(prefixes[prefix]) + unit;
}

/// one: a text without a number.
QString counted(int count, const QString& one, const QString& many) {
  return count == 1 ? one : many.arg(countText(count));
}

QString coresText(int count) {
  return counted(count, MachineText::tr("1 core"), MachineText::tr("%1 cores"));
}

QString threadsText(int count) {
  return counted(count, MachineText::tr("1 thread"), MachineText::tr("%1 threads"));
}

const GpuFacts* gpuOf(const TopologyNode& node, const HardwareProfile& profile) {
  if (node.kind != TopologyKind::Gpu || node.fact < 0) return nullptr;
  return &profile.nvidia.gpus[static_cast<std::size_t>(node.fact)];
}

const DiskFacts* diskOf(const TopologyNode& node, const HardwareProfile& profile) {
  if (node.kind != TopologyKind::FileSystem || node.fact < 0) return nullptr;
  return &profile.disks[static_cast<std::size_t>(node.fact)];
}

QString gpuDetail(const GpuFacts& gpu) {
  QStringList parts;
  if (gpu.memoryTotal > 0)
    parts << MachineText::tr("%1, %2 free").arg(bytesText(gpu.memoryTotal), bytesText(gpu.memoryFree));
  if (const QString link = linkText(gpu.maximalLink); !link.isEmpty()) parts << link;
  if (gpu.capability)
    parts << MachineText::tr("compute capability %1.%2").arg(gpu.capability->major).arg(gpu.capability->minor);
  if (gpu.displayAttached) parts << MachineText::tr("a display is on it");
  if (!gpu.processes.empty())
    parts << counted(static_cast<int>(gpu.processes.size()), MachineText::tr("1 program on it"),
                     MachineText::tr("%1 programs on it"));
  if (gpu.index < 0) parts << MachineText::tr("not offered by a driver");
  return parts.join(QStringLiteral(", "));
}

QString diskDetail(const DiskFacts& disk) {
  QStringList parts;
  parts << MachineText::tr("%1 of %2 free").arg(bytesText(disk.free), bytesText(disk.total));
  if (!disk.fileSystem.empty()) parts << toQt(disk.fileSystem);
  parts << diskKindText(disk);
  return parts.join(QStringLiteral(", "));
}

} // namespace

QString byteRateText(double bytesPerSecond) {
  return rateText(bytesPerSecond, QStringLiteral("B/s"));
}

QString flopRateText(double flopsPerSecond) {
  return rateText(flopsPerSecond, QStringLiteral("FLOP/s"));
}

QString parameterRateText(double parametersPerSecond) {
  return rateText(parametersPerSecond, QStringLiteral("param/s"));
}

QString processorText(const CpuFacts& cpu) {
  QStringList parts;
  if (cpu.packages > 0) parts << counted(cpu.packages, MachineText::tr("1 package"), MachineText::tr("%1 packages"));
  if (cpu.cores > 0) parts << coresText(cpu.cores);
  if (cpu.threads > 0) parts << threadsText(cpu.threads);
  const InstructionSets& sets = cpu.instructionSets;
  if (sets.amxBf16)
    parts << QStringLiteral("AMX");
  else if (sets.avx512)
    parts << QStringLiteral("AVX-512");
  else if (sets.avx2)
    parts << QStringLiteral("AVX2");
  return parts.join(QStringLiteral(", "));
}

QString allowanceText(const CpuFacts& cpu) {
  if (cpu.usableCores == 0 || cpu.usableCores >= cpu.cores) return {};
  const QString text = MachineText::tr("%1 of %2 cores may be used").arg(cpu.usableCores).arg(cpu.cores);
  return cpu.quota ? MachineText::tr("%1, by %2").arg(text, toQt(cpu.quotaSource)) : text;
}

QString diskKindText(const DiskFacts& disk) {
  if (disk.network) return MachineText::tr("over a network, or the host's");
  switch (disk.kind) {
  case DiskKind::Nvme:
    return MachineText::tr("NVMe");
  case DiskKind::Ssd:
    return MachineText::tr("SSD");
  case DiskKind::Hdd:
    return MachineText::tr("hard disk");
  case DiskKind::Network:
    return MachineText::tr("over a network");
  case DiskKind::Memory:
    return MachineText::tr("in memory");
  case DiskKind::Unknown:
    break;
  }
  return MachineText::tr("of unknown kind");
}

QString gpuName(const GpuFacts& gpu) {
  const QString name = gpu.name.empty() ? MachineText::tr("NVIDIA card %1").arg(toQt(gpu.deviceId)) : toQt(gpu.name);
  return gpu.index < 0 ? name : MachineText::tr("%1 (cuda:%2)").arg(name).arg(gpu.index);
}

QString linkText(const PciLink& link) {
  if (link.generation == 0 || link.width == 0) return {};
  return MachineText::tr("PCIe %1.0 x%2").arg(link.generation).arg(link.width);
}

QString nodeName(const TopologyNode& node, const HardwareProfile& profile) {
  if (const GpuFacts* gpu = gpuOf(node, profile)) return gpuName(*gpu);
  const auto numbered = [&](const QString& name) {
    return node.count > 1 ? MachineText::tr("%1 × %2").arg(node.count).arg(name)
                          : MachineText::tr("%1 %2").arg(name).arg(node.index);
  };
  switch (node.kind) {
  case TopologyKind::Machine:
    return node.name.empty() ? MachineText::tr("This machine") : toQt(node.name);
  case TopologyKind::Package:
    return numbered(MachineText::tr("Package"));
  case TopologyKind::NumaNode:
    return numbered(MachineText::tr("NUMA node"));
  case TopologyKind::Cache: {
    const QString name = MachineText::tr("L%1 cache").arg(node.level);
    return node.count > 1 ? MachineText::tr("%1 × %2").arg(node.count).arg(name) : name;
  }
  case TopologyKind::Core:
    return node.count > 1 ? numbered(MachineText::tr("core")) : MachineText::tr("Core");
  case TopologyKind::Gpu:
  case TopologyKind::FileSystem:
    break;
  case TopologyKind::Disk:
    return MachineText::tr("Disk %1").arg(toQt(node.name));
  }
  return toQt(node.name);
}

QString nodeDetail(const TopologyNode& node, const HardwareProfile& profile) {
  const GpuFacts* gpu = gpuOf(node, profile);
  if (const DiskFacts* disk = diskOf(node, profile)) return diskDetail(*disk);
  QStringList parts;
  if (gpu) parts << gpuDetail(*gpu);
  if (node.kind == TopologyKind::Package && !node.name.empty()) parts << toQt(node.name);
  if (node.size > 0 && !gpu)
    parts << (node.count > 1 ? MachineText::tr("%1 each").arg(bytesText(node.size)) : bytesText(node.size));
  if (node.kind == TopologyKind::Core) parts << threadsText(node.threads);
  if (!node.pciAddress.empty()) parts << MachineText::tr("at %1").arg(toQt(node.pciAddress));
  return parts.join(QStringLiteral(", "));
}

} // namespace millrace::ui
