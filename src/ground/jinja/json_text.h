// Values as JSON, written as Python's json.dumps does.
#pragma once

#include <optional>
#include <string>

#include "jinja/value.h"

namespace troika::jinja {

struct JsonStyle {
  bool ascii = false;                 // other characters as \u escapes
  bool sorted = false;                // by their keys
  std::optional<std::string> indent;  // of each level; none: one line
  std::string between = ", ", behind_key = ": ";
};

// Throws Failure for what JSON has no form for.
std::string to_json(const Value& value, const JsonStyle& style, Rendering& rendering);

}  // namespace troika::jinja
