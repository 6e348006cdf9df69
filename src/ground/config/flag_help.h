// Rows of settings and flags as text for people: help pages and the columns of documentation.
#pragma once

#include <string>
#include <string_view>

#include "base/language.h"
#include "config/flag_table.h"

namespace troika::config {

std::string value_shown(const Flag& flag, const Target& target);  // "N", "true|false", "gpipe|1f1b", "FILE"
// "256 tokens"; Flag::unset for an empty value
std::string default_shown(const Flag& flag, const Target& target, base::Language language);

// The familiar spellings and variables: "--depth; environment NUM_LAYERS", each between `before` and `after`.
std::string also_shown(const Flag& flag, std::string_view before, std::string_view after, base::Language language);

// "  --steps N\n      Optimizer steps. [0 steps]\n      also: --max-steps\n"
std::string help_row(const FlagRow& row, base::Language language);

// What every verb has beside its table: --help and --lang, which are read before the flags of a verb.
struct CommonFlag {
  std::string_view names;  // "-h, --help"
  std::string_view value;  // "en|zh|auto"; "": none
  base::Phrase help;
};
const std::vector<CommonFlag>& common_flags();
std::string help_of_common_flags(base::Language language);

// The page of --help; `line`: what the command does. One that takes settings explains those that it names and points to
// the others.
std::string help_page(const FlagTable& table, base::Phrase line, base::Language language);

}  // namespace troika::config
