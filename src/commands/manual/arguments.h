// The command line of `troika manual`.
#pragma once

#include <string>
#include <vector>

#include "commands/verbs.h"
#include "config/flag_table.h"

namespace troika::commands {

// Whose pages are written.
enum class PagesOf { all, troika, engine };
constexpr config::Words<3> words_of(PagesOf) { return {"all", "troika", "engine"}; }

struct ManualArguments {
  std::string page;  // "troika", or a verb with or without "troika-" before and ".1" behind
  std::string out;   // "": the page is printed
  PagesOf of = PagesOf::all;
};

config::FlagTable manual_flags(ManualArguments& a);
ManualArguments parse_manual_arguments(const std::vector<std::string>& words);  // ConfigError

}  // namespace troika::commands
