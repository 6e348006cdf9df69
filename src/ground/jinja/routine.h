// Filters, tests, methods and functions: one form for all of them, with arguments bound as Python binds them.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jinja/template.h"
#include "jinja/value.h"

namespace troika::jinja {

// The state that everything in one rendering shares: its limits, the making of values within them, and the initial variables.

// Thrown below Template::render, which adds the place.
struct Failure {
  explicit Failure(base::Text sentence) : text(std::move(sentence)) {}

  base::Text text;
};

class Rendering {
 public:
  explicit Rendering(const RenderOptions& options) : options_(options) {}
  ~Rendering();
  Rendering(const Rendering&) = delete;
  Rendering& operator=(const Rendering&) = delete;

  const std::tm& now() const { return options_.now; }
  const Limits& limits() const { return options_.limits; }

  // Counts memory made and work done, in bytes. Throws Failure beyond the limit.
  void charge(std::size_t bytes);
  void charge(std::size_t bytes, std::size_t times);  // their product

  Value text(std::string text);
  Value list(std::vector<Value> items, Sequence::Kind kind = Sequence::Kind::list);
  Value dict(std::vector<std::pair<Value, Value>> entries);  // keys differ
  Value name_space(std::vector<std::pair<std::string, Value>> entries);

 private:
  const RenderOptions& options_;
  std::vector<std::shared_ptr<Namespace>> spaces_;  // emptied at the end, as they may hold each other
  std::size_t used_bytes_ = 0;
};

// JSON as values.
// Integers beyond 64 bits come as base::parse_ordered_json has them. Throws Failure for nesting deeper than values may have.
Value value_of(const nlohmann::ordered_json& json, Rendering& rendering);

struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;  // names differ
};

const std::string& text_in(const Value& value);  // throws Failure for another type

struct Call {
  Rendering& rendering;
  Value self;                       // what is filtered, tested, or has the method
  std::vector<const Value*> bound;  // by parameter; null: not given
  const Arguments& given;

  // The accessors throw Failure for another type.
  const Value* argument(std::size_t i) const { return bound.at(i); }
  const std::string& text(std::size_t i) const { return text_in(*bound.at(i)); }
  std::int64_t integer(std::size_t i, std::int64_t when_missing) const;
  bool flag(std::size_t i, bool when_missing) const;
  const std::string& self_text() const { return text_in(self); }
};

struct Routine {
  std::string_view name;
  std::string_view parameters;  // "old new count?": a `?` may be missing; "*": any, found in Call::given
  Value (*body)(Call&);
};

// Throws Failure, naming the routine, when the arguments do not fit.
Value call(const Routine& routine, Value self, const Arguments& arguments, Rendering& rendering);

// Null: there is none of that name.
template <std::size_t N>
const Routine* find(const Routine (&table)[N], std::string_view name) {
  for (const Routine& routine : table)
    if (routine.name == name) return &routine;
  return nullptr;
}

template <std::size_t N>
void add_names(const Routine (&table)[N], std::vector<std::string>* names) {
  for (const Routine& routine : table) names->emplace_back(routine.name);
}

// The functions that every template may call: range, dict, namespace, raise_exception, strftime_now. Null here and below:
// there is none of that name.
const Routine* find_function(std::string_view name);
std::vector<std::string> function_names();

// Jinja's tests, `x is NAME`, whose bodies give a boolean.
const Routine* find_test(std::string_view name);
std::vector<std::string> test_names();

// Jinja's filters, `x | NAME`.
const Routine* find_filter(std::string_view name);
std::vector<std::string> filter_names();

// Those that give lists or choose from them (list_filters.cc).
const Routine* find_list_filter(std::string_view name);
void add_list_filter_names(std::vector<std::string>* names);

// Python's methods of str, dict and list; those that would change a value are there, and fail.
const Routine* find_method(const Value& self, std::string_view name);
const Routine* find_text_method(std::string_view name);

// The tables behind find_text_method: split, partition, ...; find, count, startswith, ...
const Routine* find_split_method(std::string_view name);
const Routine* find_search_method(std::string_view name);

}  // namespace troika::jinja
