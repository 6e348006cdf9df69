// `troika completion SHELL`: a script that completes verbs, flags and the words of values, made from the tables.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/flag_table.h"

namespace troika::commands {

enum class Shell { bash, zsh, fish };
constexpr config::Words<3> words_of(Shell) { return {"bash", "zsh", "fish"}; }

struct CompletionArguments {
  Shell shell = Shell::bash;
};

config::FlagTable completion_flags(CompletionArguments& a);
CompletionArguments parse_completion_arguments(const std::vector<std::string>& words);  // ConfigError

std::string completion_script(Shell shell);

}  // namespace troika::commands
