// Which vector instruction sets this process may use, from CPUID and what the operating system saves (XCR0).
#pragma once

#include "engine/hardware.h"

#include <array>
#include <cstdint>

namespace millrace {

/// The registers that matter, as CPUID and XGETBV give them; zeros where a leaf does not exist.
struct CpuidRegisters {
  std::uint32_t leaf1Ecx = 0;
  std::uint32_t leaf7Ebx = 0, leaf7Ecx = 0, leaf7Edx = 0;
  std::uint32_t leaf7Sub1Eax = 0;
  std::uint64_t xcr0 = 0; ///< register state that the operating system saves; 0 without OSXSAVE
};

/// Of the processor that the calling thread runs on; all zero on other architectures than x86.
CpuidRegisters readCpuid();
InstructionSets decodeInstructionSets(const CpuidRegisters& registers);

} // namespace millrace
