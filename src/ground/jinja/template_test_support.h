// For tests: templates rendered in one call.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "jinja/template.h"

namespace troika::jinja {

// The variables for tests of expressions: text, numbers, a list, a dict, messages.
const nlohmann::ordered_json& context();

inline std::string render(const std::string& source, const RenderOptions& options = {}) {
  return Template(source, "t.jinja").render(context(), options);
}

// The message of the DataError of parsing or rendering; "" without one.
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

// Expects every case's text, of a whole template or of `{{ source }}`.
void expect_texts(const std::vector<Case>& cases);
void expect_values(const std::vector<Case>& cases);

}  // namespace troika::jinja
