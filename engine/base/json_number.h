// Doubles in JSON, which knows neither NaN nor infinity: those are written as the strings "nan", "inf" and "-inf".
// Finite values are written with as many digits as it takes to read back the same bits. Pure.
#pragma once

#include "base/json_reader.h"

#include <cmath>
#include <limits>
#include <optional>
#include <string>

namespace millrace {

inline Json numberToJson(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

/// Nothing when the value is neither a number nor one of the three strings.
inline std::optional<double> numberFromJson(const Json& value) {
  if (value.is_number()) return value.get<double>();
  if (!value.is_string()) return std::nullopt;
  const auto& text = value.get_ref<const std::string&>();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

} // namespace millrace
