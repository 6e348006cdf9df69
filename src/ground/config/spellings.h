// Flags and variables of other programs that are not settings: accepted so that a known command line still runs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/language.h"

namespace troika::config {

// A flag (or flat YAML key) that is read and dropped. Its value is neither stored nor printed.
struct Ignored {
  std::string_view name;  // with '-'; ends in '*' when a prefix (variables only)
  base::Phrase why;    // end of the sentence "NAME is ignored: ..."
};
const std::vector<Ignored>& ignored_flags();
const std::vector<Ignored>& ignored_variables();

// A flag without a value, or with true/false, that sets `key` to `value` when true.
struct Switch {
  std::string_view name;
  std::string_view key;
  std::string_view value;
};
const std::vector<Switch>& switches();

// Transformers' report_to: a list, with commas, of programs that are to hear of a run.
struct Reporters {
  bool tensorboard = false;         // also where it is `all`
  std::vector<std::string> others;  // which are told nothing
};
Reporters reporters_of(const std::string& list);

// The row for a name (either dash), or nullptr.
const Ignored* find_ignored(std::string_view name);
const Switch* find_switch(std::string_view name);

// The end of an error: "; did you mean save_steps?", or nothing where nothing is near.
base::Text did_you_mean(const std::string& near);

}  // namespace troika::config
