// A machine's figures as people read them.
#pragma once

#include "engine/hardware.h"
#include "engine/topology.h"

#include <QString>

namespace millrace::ui {

/// "55.2 GB/s": rates are of decimal units, as on data sheets.
QString byteRateText(double bytesPerSecond);
/// "790 TFLOP/s"
QString flopRateText(double flopsPerSecond);
/// "4.71 Gparam/s"
QString parameterRateText(double parametersPerSecond);

/// "2 packages, 64 cores, 128 threads"; what is not known is left out.
QString processorText(const CpuFacts& cpu);
/// What may be used of it where that is less: "8 of 64 cores, by /sys/fs/cgroup/cpu.max"; else empty.
QString allowanceText(const CpuFacts& cpu);
QString diskKindText(const DiskFacts& disk);

/// "4 × L2 cache", "NUMA node 0", "NVIDIA H200 (cuda:0)".
QString nodeName(const TopologyNode& node, const HardwareProfile& profile);
/// What else is known of it: sizes, threads, addresses, links, kinds.
QString nodeDetail(const TopologyNode& node, const HardwareProfile& profile);

/// "NVIDIA H200 (cuda:0)"; without a number where the driver does not offer it.
QString gpuName(const GpuFacts& gpu);
/// "PCIe 5.0 x16"; empty: not known.
QString linkText(const PciLink& link);

} // namespace millrace::ui
