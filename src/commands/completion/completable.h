// What a shell may complete behind a verb, the tables taken together; a manual page would be written from the same.
#pragma once

#include <string>
#include <vector>

#include "commands/verbs.h"

namespace troika::commands {

// What may stand behind a flag or as a word.
enum class Completed { nothing, words, folders, files };

struct CompletableFlag {
  std::vector<std::string> names;  // with dashes; those that help lists first
  std::vector<std::string> other_names;
  std::string help;
  bool takes_value = false;
  Completed value = Completed::nothing;
  std::vector<std::string> words;  // offered alone, or before folders and files
};

struct CompletableVerb {
  std::string name, part, help;  // part: "" or "prepare" of "data prepare"
  std::vector<CompletableFlag> flags;
  Completed word = Completed::nothing;  // what stands without a flag
  std::vector<std::string> words;
};

// Every verb that has flags, in the order of verbs().
std::vector<CompletableVerb> completable_verbs();

}  // namespace troika::commands
