// Findings in the records of a source that its user should know, counted.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/language.h"
#include "config/choices.h"

namespace troika::data {

// By name, and behind a space in it what it was about: {"empty": 2, "control <|im_end|>": 5}.
class Findings {
 public:
  // In answers.
  static constexpr const char* masked = "masked";        // by a key
  static constexpr const char* empty = "empty";          // they say nothing
  static constexpr const char* emptied = "emptied";      // what they say is not in the template's text
  static constexpr const char* unthought = "unthought";  // without thinking, and they had some
  // In records.
  static constexpr const char* with_control = "with_control";  // control tokens in the text of messages
  static constexpr const char* left_out = "left_out";  // by the template: tools, tool_calls, reasoning_content, role R
  // At places.
  static constexpr const char* control = "control";  // a control token, by its text

  void add(const std::string& name, const std::string& about = "", std::int64_t count = 1);
  void add(const Findings& more);
  bool none() const { return counts_.empty(); }

  std::string to_text() const;                       // JSON
  static Findings from_text(std::string_view text);  // DataError where it is no such text

  // A line for each kind of finding, about the source `name`.
  std::vector<base::Text> report(const std::string& name, config::ControlTokens control_tokens) const;

 private:
  std::int64_t count(const std::string& name) const;
  std::map<std::string, std::int64_t> about(const std::string& name) const;

  std::map<std::string, std::int64_t> counts_;
};

}  // namespace troika::data
