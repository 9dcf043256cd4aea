// Result<T>: the outcome of anything that may fail for reasons outside the program: bad input, no room, no disk.
// Programmer errors are asserts; what ends a run travels as EngineException and is caught once, by Run.
#pragma once

#include <stdexcept>
#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace millrace {

/// What kind of failure it is; decides the exit code of the headless program.
enum class ErrorKind {
  BadInput,    ///< a file, key, option or value is wrong: exit 2
  DoesNotFit,  ///< a memory or disk limit is too small for what was asked: exit 3
  OutOfSpace,  ///< the disk is full: a run pauses, anything else fails with exit 1
  Failed,      ///< everything else: exit 1
  Interrupted, ///< stopped on request: exit 4
};

/// A failure with a message for the person who sees it: what, where, expected and actual, what to do.
struct Error {
  ErrorKind kind = ErrorKind::Failed;
  std::string message;
  std::string key = {}; ///< dotted key of the input that is at fault, for forms; empty: none, or not known
};

template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

inline tl::unexpected<Error> failure(ErrorKind kind, std::string message) {
  return tl::unexpected<Error>(Error{kind, std::move(message)});
}
inline tl::unexpected<Error> badInput(std::string message, std::string key = {}) {
  return tl::unexpected<Error>(Error{ErrorKind::BadInput, std::move(message), std::move(key)});
}
inline tl::unexpected<Error> failed(std::string message) {
  return failure(ErrorKind::Failed, std::move(message));
}

/// Carries an Error through code that cannot return one (stream tasks, the training loop). Never leaves engine/include.
class EngineException : public std::runtime_error {
 public:
  explicit EngineException(Error error) : std::runtime_error(error.message), m_error(std::move(error)) {}
  const Error& error() const { return m_error; }

 private:
  Error m_error;
};

/// The value, or the error as an EngineException.
template <class T>
T valueOrThrow(Result<T>&& result) {
  if (!result) throw EngineException(std::move(result.error()));
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

} // namespace millrace

#define MILLRACE_CONCAT_(a, b) a##b
#define MILLRACE_CONCAT(a, b) MILLRACE_CONCAT_(a, b)

/// MILLRACE_TRY(auto x, f()): declares x with the value of f(), or returns f()'s error from the enclosing function.
#define MILLRACE_TRY(declaration, expression)                                                                          \
  auto MILLRACE_CONCAT(tryResult, __LINE__) = (expression);                                                            \
  if (!MILLRACE_CONCAT(tryResult, __LINE__))                                                                           \
    return tl::unexpected<::millrace::Error>(std::move(MILLRACE_CONCAT(tryResult, __LINE__).error()));                 \
  declaration = std::move(*MILLRACE_CONCAT(tryResult, __LINE__))

/// MILLRACE_CHECK(f()): returns f()'s error from the enclosing function, if it has one.
#define MILLRACE_CHECK(expression)                                                                                     \
  do {                                                                                                                 \
    auto checkResult = (expression);                                                                                   \
    if (!checkResult) return tl::unexpected<::millrace::Error>(std::move(checkResult.error()));                        \
  } while (false)
