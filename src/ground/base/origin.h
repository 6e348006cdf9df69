// The place of a value in its source, for messages.
#pragma once

#include <string>
#include <string_view>

#include "base/language.h"

namespace troika::base {

// A path or a name, which is the same in both languages, or words. A parameter, which
// refers to what it was made of.
class Origin {
 public:
  Origin(const std::string& name) : english_(name), chinese_(name) {}  // NOLINT(google-explicit-constructor)
  Origin(const char* name) : english_(name), chinese_(name) {}         // NOLINT(google-explicit-constructor)
  Origin(const Text& words)
      : english_(words.english), chinese_(words.chinese) {}  // NOLINT(google-explicit-constructor)

  std::string_view in(Language language) const { return language == Language::english ? english_ : chinese_; }
  Text text() const { return {std::string(english_), std::string(chinese_)}; }

 private:
  std::string_view english_, chinese_;
};

}  // namespace troika::base
