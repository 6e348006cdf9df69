// The one list of verbs: dispatch, `troika help`, the pages of --help and completion walk it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/language.h"
#include "config/flag_table.h"

namespace troika::commands {

using Words = std::vector<std::string>;

struct Verb {
  std::string_view name;
  base::Phrase line;                       // what it does
  config::FlagTable (*flags)() = nullptr;  // with defaults, for help and completion; nullptr: the verb has parts
  std::vector<Verb> parts = {};            // "prepare" of "data prepare"
};

const std::vector<Verb>& verbs();

// One command line taken apart.
struct Call {
  const Verb* verb = nullptr;
  const Verb* part = nullptr;  // of a verb that has parts; else nullptr
  Words words;                 // behind the verb and its part
  config::Environment environment;
  base::Language language = base::Language::english;  // of --lang, which is not among the words, or the locale

  const Verb& last() const { return part != nullptr ? *part : *verb; }  // the one whose flags `words` are
  std::string name() const;                                             // "data prepare"
};

// `arguments` begin with the verb, or --lang and the verb. ConfigError for a verb or part that is not there, with the nearest name.
Call call_of(const Words& arguments, config::Environment environment = {});

// Whether `arguments` ask for a page instead of a run: help, --help and -h alone, with a verb's name, or among a verb's
// flags. Errors in the flags do not count then.
bool asks_for_help(const Words& arguments);
std::string help_for(const Words& arguments, base::Language language);  // arguments: without --lang
std::string overview(base::Language language);                          // `troika help`

// Reads words with the flags of a verb, and those of train where it takes them; for its errors and notes.
config::FlagReading read_with_flags_of(const Verb& verb, const Words& words);

// What `words` give by the flags of a verb. ConfigError.
template <class Arguments>
Arguments read_arguments(const Words& words, config::FlagTable (*flags)(Arguments&)) {
  Arguments arguments;
  const config::FlagTable table = flags(arguments);
  config::read_flags({&table}, words).finish();
  return arguments;
}

// The flags of a verb over arguments of their own.
template <class Arguments, config::FlagTable (*flags)(Arguments&)>
config::FlagTable unbound() {
  const auto arguments = std::make_shared<Arguments>();
  config::FlagTable table = flags(*arguments);
  table.keep(arguments);
  return table;
}

// The functions that run verbs, by name.
using Runs = std::map<std::string_view, std::function<int(const Call&)>>;

}  // namespace troika::commands
