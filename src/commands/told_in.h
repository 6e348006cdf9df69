// The language that a verb with --lang speaks, its refusals too.
#pragma once

#include <string>

#include "base/error.h"
#include "base/language.h"
#include "commands/verbs.h"

namespace troika::commands {

// By the --lang among the words, before anything else is known of them; the last one counts, and auto where there is none.
// ConfigError for another word than en, zh and auto.
inline base::Language language_of_words(const Call& call) {
  std::string chosen = "auto";
  for (std::size_t at = 0; at < call.words.size(); ++at) {
    const std::string& word = call.words[at];
    if (word.rfind("--lang=", 0) == 0) chosen = word.substr(7);
    if (word == "--lang" && at + 1 < call.words.size()) chosen = call.words[at + 1];
  }
  return base::language_of(chosen, base::locale_in(call.environment));
}

// What `work` returns. What is wrong is told in `language`, as main() prints it.
template <class Work>
auto told_in(base::Language language, const Work& work) {
  try {
    return work();
  } catch (const base::ConfigError& error) {
    throw base::ConfigError(error.in(language));
  } catch (const base::DataError& error) {
    throw base::DataError(error.in(language));
  } catch (const base::PeerError& error) {
    throw base::PeerError(error.in(language));
  }
}

}  // namespace troika::commands
