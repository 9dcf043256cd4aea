// Values of a template while it is rendered, in the manner of Python's. A Value is two words and points into the Heap
// of its rendering, or into the parsed template; it lives as long as both. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace millrace::jinja {

class Heap;
class Runtime;
struct Statement;
class Scope;

enum class Kind : std::uint8_t {
  Undefined,
  None,
  Bool,
  Int,
  Float,
  String,
  List,
  Tuple,
  Dict,
  DictView, ///< what keys(), values() and items() give
  Range,
  Iterator, ///< can be gone through once: what map, select and their like give
  Namespace,
  Function, ///< built-in functions and bound methods
  Macro,
  Loop,
  Cycler,
  Joiner,
};

struct UndefinedObject;
struct StringObject;
struct ListObject;
struct DictObject;
struct DictViewObject;
struct RangeObject;
struct IteratorObject;
struct NamespaceObject;
struct FunctionObject;
struct MacroObject;
struct LoopObject;
struct CyclerObject;
struct JoinerObject;

struct Value {
  Kind kind = Kind::None;
  bool markup = false; ///< String: marked as safe (escape, safe), so that + escapes what is added
  union {
    bool boolean;
    std::int64_t integer;
    double number;
    const UndefinedObject* undefined; ///< null: no name
    const StringObject* string;
    const ListObject* list; ///< List and Tuple
    const DictObject* dict;
    const DictViewObject* view;
    const RangeObject* range;
    IteratorObject* iterator;
    NamespaceObject* ns;
    const FunctionObject* function;
    const MacroObject* macro;
    LoopObject* loop;
    CyclerObject* cycler;
    JoinerObject* joiner;
  };

  Value() : integer(0) {}
  static Value of(bool value) {
    Value result;
    result.kind = Kind::Bool;
    result.boolean = value;
    return result;
  }
  static Value of(std::int64_t value) {
    Value result;
    result.kind = Kind::Int;
    result.integer = value;
    return result;
  }
  static Value of(double value) {
    Value result;
    result.kind = Kind::Float;
    result.number = value;
    return result;
  }

  bool is(Kind other) const { return kind == other; }
  bool isString() const { return kind == Kind::String; }
  /// Bool counts as a whole number, as in Python.
  bool isWhole() const { return kind == Kind::Int || kind == Kind::Bool; }
  bool isNumber() const { return isWhole() || kind == Kind::Float; }
  std::int64_t whole() const { return kind == Kind::Bool ? (boolean ? 1 : 0) : integer; }
  double real() const { return kind == Kind::Float ? number : static_cast<double>(whole()); }
  std::string_view text() const; ///< String
};

using Values = std::vector<Value>;

/// Whatever the Heap owns.
struct Object {
  virtual ~Object() = default;
};

struct UndefinedObject : Object {
  std::string message; ///< what using it says
  bool unsafe = false; ///< access was forbidden: a SecurityError
};
struct StringObject : Object {
  std::string text; ///< valid UTF-8
};
struct ListObject : Object {
  Values items;
  int depth = 1;        ///< how deep lists and dicts are nested
  bool isGroup = false; ///< a pair of groupby, whose parts have names: grouper and list
};
struct DictObject : Object {
  std::vector<std::pair<Value, Value>> items;              ///< in order of insertion
  std::unordered_multimap<std::size_t, std::size_t> index; ///< hash to place, once there are more than a few
  int depth = 1;
};
struct DictViewObject : Object {
  enum class Part : std::uint8_t { AllKeys, AllValues, AllItems };
  const DictObject* dict = nullptr;
  Part part = Part::AllKeys;
};
struct RangeObject : Object {
  std::int64_t start = 0;
  std::int64_t stop = 0;
  std::int64_t step = 1;
  std::int64_t size() const;
  std::int64_t at(std::int64_t i) const { return start + i * step; }
};
struct IteratorObject : Object {
  const char* typeName = "generator";
  std::function<bool(Value&)> next; ///< false: no more
  int depth = 1;                    ///< of iterators that take from iterators
};
struct NamespaceObject : Object {
  std::vector<std::pair<std::string, Value>> attributes;
};

struct Arguments {
  Values positional;
  std::vector<std::pair<std::string, Value>> named;
};
struct FunctionObject : Object {
  std::string name;
  bool isMethod = false; ///< of a value: a builtin_function_or_method
  bool isClass = false;
  std::function<Value(Runtime&, Arguments&)> call;
};
struct MacroObject : Object {
  const Statement* definition = nullptr;
  Scope* scope = nullptr; ///< in which it was defined
  std::string name;       ///< empty for call blocks
};
struct CyclerObject : Object {
  Values items;
  std::size_t position = 0;
};
struct JoinerObject : Object {
  std::string separator;
  bool used = false;
};

/// What one rendering may use; beyond that it ends with an error.
struct Budget {
  std::int64_t steps = 20'000'000;            ///< operations, and one more for every 64 bytes handled
  std::int64_t bytes = std::int64_t{1} << 28; ///< of all values made
};

/// Makes and owns the objects of one rendering, and counts what it uses. All of it is freed with the heap.
class Heap {
 public:
  explicit Heap(Budget budget) : m_budget(budget) {}
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

  template <class T>
  T* make() {
    charge(static_cast<std::int64_t>(sizeof(T)) + 16);
    auto object = std::make_unique<T>();
    T* const pointer = object.get();
    m_objects.push_back(std::move(object));
    return pointer;
  }
  Value string(std::string text, bool markup = false);
  Value list(Values items);
  Value tuple(Values items);
  /// What groupby gives: a pair with named parts.
  Value group(const Value& grouper, const Value& list);
  /// Of keys that may be repeated: the last value counts, the first place.
  Value dict(std::vector<std::pair<Value, Value>> items);
  Value range(std::int64_t start, std::int64_t stop, std::int64_t step);
  Value view(const DictObject* dict, DictViewObject::Part part);
  /// source: what it takes from, if that may be an iterator itself.
  Value iterator(const char* typeName, const Value* source, std::function<bool(Value&)> next);
  Value method(std::string name, std::function<Value(Runtime&, Arguments&)> call);
  /// message: what using it says.
  Value undefined(std::string message, bool unsafe = false);
  Value undefinedAttribute(const Value& of, std::string_view name);

  /// Both throw Fault when the budget is spent. Call them before the memory is taken and the work is done.
  void charge(std::int64_t bytes);
  void step(std::int64_t count = 1);

 private:
  Value sequence(Kind kind, Values items, bool isGroup = false);

  Budget m_budget;
  std::vector<std::unique_ptr<Object>> m_objects;
};

/// Python's name of the value's type.
std::string typeName(const Value& value);
bool truth(const Value& value);
/// ==, as Python sees it. Charges the heap, since lists can be long.
bool equal(Heap& heap, const Value& a, const Value& b);
/// The value under the key, or null. Throws Fault for keys that cannot be hashed.
const Value* find(Heap& heap, const DictObject& dict, const Value& key);
const Value* find(const DictObject& dict, std::string_view key);

} // namespace millrace::jinja
