// Rows of settings and flags as text for people: help pages and the columns of documentation.
#pragma once

#include <string>
#include <string_view>

#include "config/flag_table.h"

namespace troika::config {

std::string value_shown(const Flag& flag, const Target& target);    // "N", "true|false", "gpipe|1f1b", "FILE"
std::string default_shown(const Flag& flag, const Target& target);  // "256 tokens"; Flag::unset for an empty value

// The familiar spellings and variables: "--depth; environment NUM_LAYERS", each between `before` and `after`.
std::string also_shown(const Flag& flag, std::string_view before, std::string_view after);

// "  --steps N\n      Optimizer steps. [0 steps]\n      also: --max-steps\n"
std::string help_row(const FlagRow& row);
std::string help_row_of_help();

// The page of --help; `line`: what the command does. One that takes settings explains those that it names and points to
// the others.
std::string help_page(const FlagTable& table, std::string_view line);

}  // namespace troika::config
