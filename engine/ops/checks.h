// What every op asks of its arguments before it dispatches. A violation is a mistake of the engine's own, but sizes
// come from files, so it ends the run with the op's name, what was expected and what was found instead of reaching
// memory.
#pragma once

#include "tensor/tensor.h"

#include <initializer_list>
#include <string>
#include <string_view>

namespace millrace::ops {

/// The checks of one call. Every function throws EngineException (ErrorKind::Failed) when its condition does not hold.
class Checks {
 public:
  explicit Checks(std::string_view op) : m_op(op) {}

  /// A tensor of one of the dtypes and exactly this shape, with a contiguous innermost dimension.
  void tensor(std::string_view name, const TensorView& view, std::initializer_list<DType> dtypes,
              const Shape& shape) const;
  /// The same with a shape not known yet, of rank minRank to maxRank.
  void tensor(std::string_view name, const TensorView& view, std::initializer_list<DType> dtypes, int minRank,
              int maxRank) const;
  void contiguous(std::string_view name, const TensorView& view) const;
  void that(bool condition, std::string_view rule) const;
  /// a and b, of which at least one is written, have no element in common.
  void apart(std::string_view aName, const TensorView& a, std::string_view bName, const TensorView& b) const;
  /// a and b are apart, or the very same elements in the same places.
  void apartOrSame(std::string_view aName, const TensorView& a, std::string_view bName, const TensorView& b) const;

 private:
  [[noreturn]] void fail(const std::string& what) const;
  void layout(std::string_view name, const TensorView& view, std::initializer_list<DType> dtypes) const;
  std::string_view m_op;
};

/// Whether two views may have memory in common. Column ranges of one buffer are told apart; for layouts that do not
/// compare, overlapping extents count as shared. An absent view shares nothing.
bool mayOverlap(const TensorView& a, const TensorView& b);
/// The same elements at the same addresses.
bool sameElements(const TensorView& a, const TensorView& b);

} // namespace millrace::ops
