#include "data/validation_reader.h"

#include <algorithm>
#include <fmt/format.h>

namespace millrace {

Result<ValidationBatch> ValidationReader::next(std::int64_t rows) {
  if (rows < 1) return badInput(fmt::format("a batch of {} rows was asked for, expected at least 1", rows));
  const std::int64_t count = std::min(rows, m_rows.rows() - m_next);
  ValidationBatch out;
  out.batch = m_rows.makeBatch(count);
  out.textBytes.resize(static_cast<std::size_t>(count));
  const auto context = static_cast<std::size_t>(m_rows.context());
  for (std::int64_t slot = 0; slot < count; ++slot) {
    MILLRACE_CHECK(m_rows.fill(m_next + slot, out.batch, slot));
    const auto targets = std::span(out.batch.targets).subspan(static_cast<std::size_t>(slot) * context, context);
    std::int64_t& bytes = out.textBytes[static_cast<std::size_t>(slot)];
    for (const std::int32_t target : targets)
      if (target >= 0) bytes += (*m_tokenBytes)[static_cast<std::size_t>(target)];
  }
  m_next += count;
  return out;
}

} // namespace millrace
