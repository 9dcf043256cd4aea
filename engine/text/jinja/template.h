// A Jinja template, as Hugging Face models carry them for chats: parsed once, rendered many times. It renders as jinja2
// does in transformers' sandbox (trim_blocks, lstrip_blocks, break and continue, generation tags, raise_exception,
// strftime_now, tojson), and in bounded time and memory whatever the template says. Immutable; any thread.
#pragma once

#include "base/json_reader.h"

#include <cstdint>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace millrace::jinja {

/// What is wrong with a template, or what it said with raise_exception.
struct TemplateFault {
  std::string type;    ///< as the reference names it: TemplateError, UndefinedError, TypeError, ...
  std::string message; ///< as the reference puts it
  int line = 0;        ///< of the template, from 1; 0: not known

  /// "TypeError: can only concatenate ...", as the reference prints it.
  std::string text() const { return type + ": " + message; }
};

struct RenderLimits {
  std::int64_t steps = 20'000'000;             ///< operations; about a second of work
  std::int64_t bytes = std::int64_t{1} << 28;  ///< of texts and values made on the way
  std::int64_t output = std::int64_t{1} << 26; ///< bytes of text
};

struct ByteRange {
  std::size_t begin = 0;
  std::size_t end = 0;
  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

struct Rendering {
  std::string text;
  std::vector<ByteRange> generated; ///< what generation tags wrote, as transformers counts it
};

class Template {
 public:
  static constexpr std::size_t longestSource = std::size_t{4} << 20; ///< bytes

  /// Fails for a source that is too long, is not UTF-8, nests too deep, or is not Jinja.
  static tl::expected<Template, TemplateFault> parse(std::string_view source);
  ~Template();
  Template(Template&&) noexcept;
  Template& operator=(Template&&) noexcept;

  /// variables: an object; its keys are the names. now: what strftime_now() tells, else the local time.
  tl::expected<Rendering, TemplateFault> render(const Json& variables, const RenderLimits& limits = {},
                                                const std::optional<std::tm>& now = std::nullopt) const;
  /// Whether it has generation tags.
  bool marksGeneration() const;
  /// Whether it reads or sets a variable of that name.
  bool uses(std::string_view variable) const;

 private:
  struct Impl;
  explicit Template(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> m_impl;
};

} // namespace millrace::jinja
