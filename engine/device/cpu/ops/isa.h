// Which copy of a kernel runs. millrace_isa_sources() compiles each *_kernels.cpp once per instruction set into the
// namespace of that set; the copies share no inline or template function with the rest of the program (the linker would
// keep one of them for all), so they take plain pointers and structs only.
#pragma once

#include <cstdint>
#include <string_view>

namespace millrace::cpu {

enum class Isa : std::uint8_t { Baseline, Avx2, Avx512 };

std::string_view toString(Isa isa);

bool supported(Isa isa);
/// The widest that this processor supports.
Isa bestIsa();

} // namespace millrace::cpu

/// Declares functions once per instruction set: MILLRACE_EACH_ISA(void f(int);)
#define MILLRACE_EACH_ISA(...)                                                                                         \
  namespace baseline {                                                                                                 \
  __VA_ARGS__                                                                                                          \
  }                                                                                                                    \
  namespace avx2 {                                                                                                     \
  __VA_ARGS__                                                                                                          \
  }                                                                                                                    \
  namespace avx512 {                                                                                                   \
  __VA_ARGS__                                                                                                          \
  }

/// The address of the copy of a function for an instruction set.
#define MILLRACE_ISA_FUNCTION(isa, function)                                                                           \
  ((isa) == ::millrace::cpu::Isa::Avx512 ? &::millrace::cpu::avx512::function                                          \
   : (isa) == ::millrace::cpu::Isa::Avx2 ? &::millrace::cpu::avx2::function                                            \
                                         : &::millrace::cpu::baseline::function)
