// The inner loops of sums: over columns (bias_gradient.h, column_sums.h), over a range (reduce.h), and of
// token rows (embedding.h).
#pragma once

#include "device/cpu/ops/isa.h"
#include "device/cpu/ops/rows.h"

namespace millrace::cpu {

MILLRACE_EACH_ISA(
    // sums[c] = sum of rows [begin, end) of x, ascending.
    void columnSumsOfRows(const Rows& x, bool bf16, std::int64_t columns, std::int64_t begin, std::int64_t end,
                          float* sums);
    // target[c] += (rows[0][c] + rows[1][c] + ...).
    void addRows(const float* rows, std::int64_t count, std::int64_t stride, std::int64_t columns, float* target);
    double sumRange(const float* x, std::int64_t count);
    // sums[i % lanes] += x[i]^2, with the lanes of SumOfSquaresArgs.
    void addSquaresInLanes(const float* x, std::int64_t count, double* sums);
    // out[c] = scale * sum of the rows of x that are listed, in the order of the list.
    void sumListedRows(const Rows& x, bool bf16, std::int64_t columns, const std::int32_t* list, std::int64_t count,
                       float scale, float* out);
    // y = scale * a (+ b), single rows.
    void copyRow(const void* a, float scale, const void* b, void* y, bool bf16, std::int64_t columns);)

} // namespace millrace::cpu
