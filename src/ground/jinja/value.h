// The values of a template: Python's values, as far as templates see them. Text is UTF-8. Lists, tuples and dicts never change once
// they are made, as in the sandbox that chat templates are written for; namespaces do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/language.h"

namespace troika::jinja {

class Rendering;
class Value;
struct Arguments;

struct Undefined {
  // The sentence of an error that comes of its use ("'x' is undefined"). It is made only then: most undefined values are
  // just tested or printed.
  std::function<base::Text()> reason = [] { return base::Text{}; };
};
struct None {};

// A generator is what filters such as `select` give: always true, without length or index, and empty once it was read.
struct Sequence {
  enum class Kind { list, tuple, generator };
  Kind kind = Kind::list;
  std::vector<Value> items;
  int depth = 1;  // of containers in containers
  mutable std::size_t taken = 0;
};

struct Dict {
  std::vector<std::pair<Value, Value>> entries;  // keys differ
  int depth = 1;
};

struct Namespace {
  std::vector<std::pair<std::string, Value>> entries;
};

struct Callable {
  std::function<Value(Rendering&, const Arguments&)> body;
  int depth = 1;  // of what it holds, as of a container
};

struct LoopState {
  std::shared_ptr<const std::vector<Value>> items;
  std::size_t at = 0;
  int depth = 1;  // of what it holds, as of a container
};

// An integer that 64 bits do not hold: it is compared and printed, and nothing is calculated with it.
struct LongInteger {
  std::string digits;  // with its sign
};

class Value {
 public:
  Value() = default;  // undefined
  explicit Value(Undefined value) : data_(std::move(value)) {}
  explicit Value(None value) : data_(value) {}
  explicit Value(bool value) : data_(value) {}
  explicit Value(std::int64_t value) : data_(value) {}
  explicit Value(double value) : data_(value) {}
  explicit Value(LongInteger value) : data_(std::make_shared<const LongInteger>(std::move(value))) {}
  explicit Value(std::string value) : data_(std::make_shared<const std::string>(std::move(value))) {}
  explicit Value(std::string_view value) : Value(std::string(value)) {}
  explicit Value(const char* value) : Value(std::string(value)) {}
  explicit Value(std::shared_ptr<const Sequence> value) : data_(std::move(value)) {}
  explicit Value(std::shared_ptr<const Dict> value) : data_(std::move(value)) {}
  explicit Value(std::shared_ptr<Namespace> value) : data_(std::move(value)) {}
  explicit Value(std::shared_ptr<const Callable> value) : data_(std::move(value)) {}
  explicit Value(std::shared_ptr<const LoopState> value) : data_(std::move(value)) {}

  // Null where the value is of another type.
  const Undefined* undefined() const { return std::get_if<Undefined>(&data_); }
  bool is_none() const { return std::holds_alternative<None>(data_); }
  const bool* boolean() const { return std::get_if<bool>(&data_); }
  const std::int64_t* integer() const { return std::get_if<std::int64_t>(&data_); }
  const double* real() const { return std::get_if<double>(&data_); }
  const LongInteger* long_integer() const { return pointee<const LongInteger>(); }
  const std::string* text() const { return pointee<const std::string>(); }
  const Sequence* sequence() const { return pointee<const Sequence>(); }
  const Dict* dict() const { return pointee<const Dict>(); }
  Namespace* name_space() const { return pointee<Namespace>(); }
  const Callable* callable() const { return pointee<const Callable>(); }
  const LoopState* loop() const { return pointee<const LoopState>(); }

  bool is_number() const { return boolean() != nullptr || integer() != nullptr || real() != nullptr; }
  bool is_whole() const { return boolean() != nullptr || integer() != nullptr; }
  std::int64_t as_integer() const;  // of a whole number
  double as_real() const;           // of a number

 private:
  template <class T>
  T* pointee() const {
    const auto* found = std::get_if<std::shared_ptr<T>>(&data_);
    return found == nullptr ? nullptr : found->get();
  }

  std::variant<Undefined, None, bool, std::int64_t, double, std::shared_ptr<const LongInteger>,
               std::shared_ptr<const std::string>, std::shared_ptr<const Sequence>, std::shared_ptr<const Dict>,
               std::shared_ptr<Namespace>, std::shared_ptr<const Callable>, std::shared_ptr<const LoopState>>
      data_;
};

bool is_true(const Value& value);
bool is_hashable(const Value& value);       // may be a key
int depth_of(const Value& value);           // of containers in containers; 0: no container
void refuse_undefined(const Value& value);  // throws Failure with the reason of an undefined one

enum class Type {
  undefined,
  none,
  boolean,
  integer,
  long_integer,
  real,
  text,
  list,
  tuple,
  generator,
  dict,
  name_space,
  callable,
  loop
};
Type type_of(const Value& value);
base::Text type_name(Type type);  // for errors: "a list"
inline base::Text type_name(const Value& value) { return type_name(type_of(value)); }

const Value* find(const Dict& dict, const Value& key, Rendering& rendering);  // null: not there
const Value* find(const Dict& dict, std::string_view key);

// Throw Failure; each element compared is charged. `less` is that of numbers, texts, lists and tuples.
bool equal(const Value& a, const Value& b, Rendering& rendering);
bool less(const Value& a, const Value& b, Rendering& rendering);

// The elements of what can be iterated: a dict gives its keys, text its characters, undefined nothing. Throws Failure.
std::vector<Value> elements(const Value& value, Rendering& rendering);

}  // namespace troika::jinja
