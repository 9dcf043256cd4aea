#include "hardware/instruction_sets.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

namespace millrace {

namespace {
constexpr bool bit(std::uint64_t value, int index) {
  return ((value >> index) & 1u) != 0;
}
} // namespace

#if defined(__x86_64__) || defined(__i386__)

CpuidRegisters readCpuid() {
  CpuidRegisters registers;
  std::uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx)) return registers;
  registers.leaf1Ecx = ecx;
  if (bit(ecx, 27)) { // OSXSAVE: XGETBV may be used
    std::uint32_t low = 0, high = 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    registers.xcr0 = (static_cast<std::uint64_t>(high) << 32) | low;
  }
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) {
    registers.leaf7Ebx = ebx;
    registers.leaf7Ecx = ecx;
    registers.leaf7Edx = edx;
    if (eax >= 1 && __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx)) registers.leaf7Sub1Eax = eax;
  }
  return registers;
}

#else

CpuidRegisters readCpuid() {
  return {};
}

#endif

InstructionSets decodeInstructionSets(const CpuidRegisters& registers) {
  const bool ymmSaved = (registers.xcr0 & 0x6u) == 0x6u;
  const bool zmmSaved = (registers.xcr0 & 0xE6u) == 0xE6u;
  const bool tilesSaved = (registers.xcr0 & 0x60000u) == 0x60000u;
  InstructionSets sets;
  sets.sse42 = bit(registers.leaf1Ecx, 20);
  const bool avx = ymmSaved && bit(registers.leaf1Ecx, 28);
  const bool fma = bit(registers.leaf1Ecx, 12);
  const bool f16c = bit(registers.leaf1Ecx, 29);
  sets.avx2 = avx && fma && f16c && bit(registers.leaf7Ebx, 5);
  sets.avx512 = sets.avx2 && zmmSaved && bit(registers.leaf7Ebx, 16) && bit(registers.leaf7Ebx, 17) &&
                bit(registers.leaf7Ebx, 30) && bit(registers.leaf7Ebx, 31);
  sets.avx512Vnni = sets.avx512 && bit(registers.leaf7Ecx, 11);
  sets.avx512Bf16 = sets.avx512 && bit(registers.leaf7Sub1Eax, 5);
  sets.amxBf16 = sets.avx512 && tilesSaved && bit(registers.leaf7Edx, 22) && bit(registers.leaf7Edx, 24);
  return sets;
}

} // namespace millrace
