// The scripts of `troika completion`, one per shell. Each asks `troika completion SHELL -- WORD ...` at every Tab.
#pragma once

#include <string>

#include "commands/completion/candidates.h"

namespace troika::commands {

extern const char* const bash_script;
extern const char* const zsh_script;
extern const char* const fish_script;

// What the scripts read: a line for each word, in which a tab (fish) or a colon (zsh) stands before its help, and a last line with
// the paths: ":none", ":files", ":folders" or ":settings".
std::string answer_for_bash(const Candidates& candidates);
std::string answer_for_zsh(const Candidates& candidates);
std::string answer_for_fish(const Candidates& candidates);

}  // namespace troika::commands
