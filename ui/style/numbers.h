// Numbers as people read them, in the user's locale.
#pragma once

#include <QString>
#include <cstdint>

namespace millrace::ui {

/// "1,234,567"
QString countText(std::int64_t count);
/// "7.62 B", "456 k", "12": three digits and a prefix, as models and tokens are counted.
QString shortCountText(double count);
/// "4.2 GiB"
QString bytesText(std::int64_t bytes);
/// "2 days 4 h", "3 min 20 s", "12 years", "23 million years": the two largest units.
QString durationText(double seconds);
/// Significant digits as they serve: "0.0003", "3.21e-06", "nan".
QString numberText(double value, int digits = 4);

} // namespace millrace::ui
