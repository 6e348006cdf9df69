// Operators, attributes, elements and slices with Python's meaning, and values as Python prints them and as JSON. All throw
// Failure for operands that have none.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "jinja/routine.h"
#include "jinja/value.h"

namespace troika::jinja {

// sign: + - * / // % **. Integers have 64 bits; beyond that they are refused.
Value arithmetic(std::string_view sign, const Value& left, const Value& right, Rendering& rendering);
Value negated(const Value& value);
Value plus(const Value& value);

// sign: == != < <= > >= in "not in".
bool compare(std::string_view sign, const Value& left, const Value& right, Rendering& rendering);

bool contains(const Value& container, const Value& value, Rendering& rendering);

// A missing value is undefined, as in Jinja; use of an undefined value throws Failure.

// `object.name`: a method goes before a key of a dict.
Value attribute_of(const Value& object, const std::string& name, Rendering& rendering);

// `object[key]`: a key of a dict goes before a method.
Value item_of(const Value& object, const Value& key, Rendering& rendering);

// `object["a.0.b"]` as filters take it: one element after the other. `when_missing` (or null) replaces missing elements.
Value path_of(const Value& object, const Value& path, Rendering& rendering, const Value* when_missing = nullptr);

// `object[begin:end:step]`; each bound an integer or none.
Value slice_of(const Value& object, const Value& begin, const Value& end, const Value& step, Rendering& rendering);

// str(): text as it is, True, None, 1.0, ['a', 1], {'a': 'it"s'}; nothing of an undefined value. Throws Failure
// beyond the limits of the rendering.
std::string str(const Value& value, Rendering& rendering);

// repr(): as str, with quotes around text.
std::string repr(const Value& value, Rendering& rendering);

std::string real_text(double number);  // the shortest that reads back: 1.0, 1e-05, 1e+16, inf, nan

// text % value: %s, %r, %d, %i, %f with a precision, %%.
std::string printf_text(const std::string& format, const Value& values, Rendering& rendering);

// Values as JSON, written as Python's json.dumps does.
struct JsonStyle {
  bool ascii = false;                 // other characters as \u escapes
  bool sorted = false;                // by their keys
  std::optional<std::string> indent;  // of each level; none: one line
  std::string between = ", ", behind_key = ": ";
};

// Throws Failure for what JSON has no form for.
std::string to_json(const Value& value, const JsonStyle& style, Rendering& rendering);

}  // namespace troika::jinja
