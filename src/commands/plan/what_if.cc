#include "commands/plan/what_if.h"

#include <algorithm>
#include <cctype>

#include "config/flag_table.h"
#include "planner/what_if.h"

namespace troika::commands {
namespace {

constexpr const char* asking = "--what-if";

bool is_asking(const std::string& word) { return word == asking || word.rfind(std::string(asking) + "=", 0) == 0; }

// "-1" is a change, not a flag.
bool takes_hosts_away(const std::string& word) {
  return word.size() > 1 && word[0] == '-' && std::isdigit(static_cast<unsigned char>(word[1])) != 0;
}

// Flags first, then all changes behind "--".
std::vector<std::string> flags_first(const std::vector<std::string>& words) {
  std::vector<std::string> flags, changes;
  for (std::size_t at = 0; at < words.size(); ++at) {
    const bool is_flag = words[at].rfind('-', 0) == 0 && !takes_hosts_away(words[at]);
    (is_flag ? flags : changes).push_back(words[at]);
    if ((words[at] == asking || words[at] == "--lang") && at + 1 < words.size()) flags.push_back(words[++at]);
  }
  flags.emplace_back("--");
  flags.insert(flags.end(), changes.begin(), changes.end());
  return flags;
}

}  // namespace

bool asks_what_if(const std::vector<std::string>& words) { return std::any_of(words.begin(), words.end(), is_asking); }

std::string what_if_report(const std::vector<std::string>& words, base::Language language) {
  std::string run, lang;
  std::vector<std::string> changes;
  bool json = false;
  config::FlagTable table("troika plan --what-if");
  table.add("what-if", run, "The run.").required();
  table.add("json", json, "One JSON object.").alone();
  table.add("lang", lang, "Language of the sentences, which `language` is.");
  table.rest("CHANGE", changes, "What to change.");
  config::read_flags({&table}, flags_first(words)).finish();
  const planner::WhatIf answer = planner::what_if(run, changes);
  return json ? planner::to_json(answer, language) : planner::to_text(answer, language);
}

}  // namespace troika::commands
