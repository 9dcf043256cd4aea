// Rates that step times are predicted from, each with where it came from: measured on this machine by a probe, assumed
// from a data sheet or a table, or entered by the user. Plain values.
#pragma once

#include <cstdint>
#include <string>

namespace millrace {

/// Bytes of memory that AdamW reads (16) and writes (12) a parameter, with fp32 weights as with split ones.
constexpr double adamWTraffic = 28;

enum class RateOrigin : std::uint8_t { Unknown, Assumed, Entered, Measured };

struct Rate {
  double perSecond = 0; ///< in the unit that the field's comment names; 0: not known
  RateOrigin origin = RateOrigin::Unknown;
  std::string source;     ///< "probe", "data sheet", the name of a profile
  std::string measuredAt; ///< ISO 8601, UTC; empty unless measured
  bool known() const { return perSecond > 0; }
  bool operator==(const Rate&) const = default;
};

/// Of what computes: a GPU, or the CPU behind its capped memory.
struct DeviceRates {
  Rate copyIn;   ///< bytes, host to device, pinned
  Rate copyOut;  ///< bytes, device to host, pinned
  Rate copyBoth; ///< bytes, both ways at once, their sum
  Rate gemmFp32; ///< floating-point operations of large matrix products
  Rate gemmTf32;
  Rate gemmBf16;
  Rate memory; ///< bytes read and written in the device's memory
  bool operator==(const DeviceRates&) const = default;
};

struct HostRates {
  Rate memory;            ///< bytes read and written by all usable cores
  Rate adamW;             ///< parameters updated, 28 bytes of traffic each
  Rate adamWBesideCopies; ///< the same while the device copies both ways
  /// On weights split in two planes, as bf16 computing has them; unknown: taken to be as fast as on whole ones.
  Rate adamWSplit = {};
  Rate adamWSplitBesideCopies = {};
  bool operator==(const HostRates&) const = default;
};

struct DiskRates {
  Rate read;  ///< bytes, large and unbuffered, several at once
  Rate write; ///< bytes
  bool operator==(const DiskRates&) const = default;
};

} // namespace millrace
