#include "api/bench_machine.h"

namespace millrace {

BenchMachine benchMachineOf(const HardwareProfile& profile, int threads) {
  BenchMachine machine;
  machine.processor = profile.cpu.name;
  machine.threads = threads;
  machine.cores = profile.cpu.usableCores;
  machine.memory = profile.memory.total;
  const InstructionSets& sets = profile.cpu.instructionSets;
  machine.instructionSet = sets.avx512 ? "AVX-512" : sets.avx2 ? "AVX2" : "baseline";
  return machine;
}

Json toJson(const BenchMachine& machine) {
  return {{"processor", machine.processor},
          {"threads", machine.threads},
          {"cores", machine.cores},
          {"memory_bytes", machine.memory},
          {"instruction_set", machine.instructionSet}};
}

} // namespace millrace
