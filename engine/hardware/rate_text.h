// Rates as people write them: "55 GB/s", "790 TFLOP/s", "4.7 Gparam/s". Pure functions.
#pragma once

#include "base/result.h"
#include "engine/rates.h"

#include <string>
#include <string_view>

namespace millrace {

enum class RateUnit { Byte, Flop, Parameter };

/// More than any machine does; larger figures are refused.
constexpr double maximalRate = 1e21;

/// A number a second of a text. Errors: BadInput, saying what it should look like.
Result<double> parseRate(std::string_view text, RateUnit unit);

/// "55.0 GB/s".
std::string formatRate(double perSecond, RateUnit unit);

std::string_view toString(RateOrigin origin);

/// Calls visit(field, key in files, words for people, unit) for each rate of a set. Rates: const or not.
template <class Rates, class Visit>
void visitDeviceRates(Rates& rates, Visit&& visit) {
  visit(rates.copyIn, "copy_in", "copy to the device", RateUnit::Byte);
  visit(rates.copyOut, "copy_out", "copy from the device", RateUnit::Byte);
  visit(rates.copyBoth, "copy_both", "both at once", RateUnit::Byte);
  visit(rates.gemmFp32, "gemm_fp32", "products in fp32", RateUnit::Flop);
  visit(rates.gemmTf32, "gemm_tf32", "products in tf32", RateUnit::Flop);
  visit(rates.gemmBf16, "gemm_bf16", "products in bf16", RateUnit::Flop);
  visit(rates.memory, "memory", "device memory", RateUnit::Byte);
}
template <class Rates, class Visit>
void visitHostRates(Rates& rates, Visit&& visit) {
  visit(rates.memory, "memory", "host memory", RateUnit::Byte);
  visit(rates.adamW, "adamw", "AdamW", RateUnit::Parameter);
  visit(rates.adamWBesideCopies, "adamw_beside_copies", "AdamW beside copies", RateUnit::Parameter);
  visit(rates.adamWSplit, "adamw_split", "AdamW, split weights", RateUnit::Parameter);
  visit(rates.adamWSplitBesideCopies, "adamw_split_beside_copies", "  beside copies", RateUnit::Parameter);
}
template <class Rates, class Visit>
void visitDiskRates(Rates& rates, Visit&& visit) {
  visit(rates.read, "read", "disk read", RateUnit::Byte);
  visit(rates.write, "write", "disk write", RateUnit::Byte);
}

} // namespace millrace
