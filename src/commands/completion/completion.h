// `troika completion SHELL`: the script of a shell, and with words behind `--` what that script asks for at every Tab.
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
  std::vector<std::string>
      words;  // of a command line behind "troika", up to the cursor; empty: the script is asked for
};

config::FlagTable completion_flags(CompletionArguments& a);
CompletionArguments parse_completion_arguments(const std::vector<std::string>& words);  // ConfigError

std::string completion_report(const CompletionArguments& a, base::Language language);

}  // namespace troika::commands
