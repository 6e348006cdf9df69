// For tests: templates rendered in one call.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "jinja/template.h"

namespace troika::jinja {

// What tests of expressions find: text, numbers, a list, a dict, messages.
inline const nlohmann::ordered_json& context() {
  static const auto all = nlohmann::ordered_json::parse(R"({
    "s": "Hello, Wörld 😀", "n": -7, "f": 2.0, "flag": true, "nothing": null, "empty": [], "numbers": [3, 1, 2],
    "l": [1, 2.5, "three", null, true, [1, "q'"], {"a": 1}],
    "d": {"a": 1, "b": "two", "items": [1, 2], "deep": {"m": [1, {"k": "v"}]}},
    "turns": [{"role": "user", "content": "Hi", "n": 3}, {"role": "assistant", "content": "Yo", "n": 1, "x": {"y": 2}},
              {"role": "user", "content": "b", "n": 2}]})");
  return all;
}

inline std::string render(const std::string& source, const RenderOptions& options = {}) {
  return Template(source, "t.jinja").render(context(), options);
}

// What the DataError of parsing or rendering says; "" without one.
inline std::string refusal(const std::string& source, const RenderOptions& options = {}) {
  try {
    render(source, options);
  } catch (const base::DataError& error) {
    return error.what();
  }
  return "";
}

// Source, and the text that Python's Jinja renders.
struct Case {
  const char *source, *text;
};

}  // namespace troika::jinja
