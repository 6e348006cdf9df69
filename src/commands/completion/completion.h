// `troika completion SHELL`: the script of a shell, and with words behind `--` what that script asks for at every Tab.
#pragma once

#include <string>
#include <vector>

#include "commands/verbs.h"

namespace troika::commands {

// `words`: those after the verb. ConfigError.
std::string completion_report(const Words& words, base::Language language);
config::FlagTable completion_flags();

// The candidates for the last word of a command line of troika, from the tables.

// The kinds of paths that are candidates as well.
enum class Paths { none, files, folders, settings_files };

struct Candidate {
  std::string word, help;  // help: "" or one sentence
};

struct Candidates {
  std::vector<Candidate> words;  // whole, so that the last word is the beginning of each: "--schedule=1f1b"
  Paths paths = Paths::none;     // behind the "=" where the last word has one
};

// `words`: those behind "troika", the last one as far as it is typed, maybe "". Familiar spellings of a flag are candidates where
// none of its own begins so; '-' and '_' stay as they were typed. Behind `launch ... --` the command of the ranks counts. Nothing
// for an impossible command line. The help is in `language`.
Candidates candidates_for(const Words& words, base::Language language);

}  // namespace troika::commands
