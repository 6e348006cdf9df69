#include "jinja/template_test_support.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace troika::jinja {

const nlohmann::ordered_json& context() {
  static const auto all = nlohmann::ordered_json::parse(R"({
    "s": "Hello, Wörld 😀", "n": -7, "f": 2.0, "flag": true, "nothing": null, "empty": [], "numbers": [3, 1, 2],
    "l": [1, 2.5, "three", null, true, [1, "q'"], {"a": 1}],
    "d": {"a": 1, "b": "two", "items": [1, 2], "deep": {"m": [1, {"k": "v"}]}},
    "turns": [{"role": "user", "content": "Hi", "n": 3}, {"role": "assistant", "content": "Yo", "n": 1, "x": {"y": 2}},
              {"role": "user", "content": "b", "n": 2}]})");
  return all;
}

void expect_texts(const std::vector<Case>& cases) {
  for (const Case& one : cases) EXPECT_EQ(render(one.source), one.text) << one.source;
}

void expect_values(const std::vector<Case>& cases) {
  for (const Case& one : cases) EXPECT_EQ(render(std::string("{{ ") + one.source + " }}"), one.text) << one.source;
}

}  // namespace troika::jinja
