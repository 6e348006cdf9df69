#include "commands/completion/completable.h"

#include "config/command_line.h"
#include "config/flag_help.h"

namespace troika::commands {
namespace {

using config::FlagRow;

std::vector<std::string> dashed(const std::vector<std::string_view>& names) {
  std::vector<std::string> result;
  for (const std::string_view name : names) result.push_back("--" + config::normalised(name));
  return result;
}

Completed completed_value(const FlagRow& row, std::vector<std::string>* words) {
  const config::Flag& flag = *row.flag;
  const config::Target& target = row.target;
  if (row.takes == config::Takes::nothing || row.takes == config::Takes::any_word) return Completed::nothing;
  words->assign(flag.words.begin(), flag.words.end());
  if (config::is_truth(target)) *words = {"true", "false"};
  if (flag.offered != nullptr) *words = flag.offered();
  if (config::is_truth(target) || std::holds_alternative<config::WordTarget>(target) || flag.offered != nullptr)
    return Completed::words;
  const bool is_text = config::is_text(target) || std::holds_alternative<std::vector<std::string>*>(target);
  if (!is_text) return Completed::nothing;
  return flag.shown == "DIR" ? Completed::folders : Completed::files;
}

CompletableFlag completable(const FlagRow& row) {
  const config::Flag& flag = *row.flag;
  CompletableFlag result;
  result.names = dashed(flag.flags);
  result.names.push_back(flag.flag());
  result.other_names = dashed(flag.familiar);
  result.help = flag.help;
  result.value = completed_value(row, &result.words);
  result.takes_value = row.takes == config::Takes::value || row.takes == config::Takes::any_word;
  return result;
}

void add_flags(const config::FlagTable& table, CompletableVerb* verb) {
  for (const FlagRow& row : table.rows()) {
    if (row.takes != config::Takes::dropped) verb->flags.push_back(completable(row));
  }
}

CompletableVerb completable(const Verb& verb, const std::string& name, const std::string& part) {
  CompletableVerb result;
  result.name = name;
  result.part = part;
  result.help = verb.line;
  const config::FlagTable own = verb.flags();
  add_flags(own, &result);
  if (!own.words().empty()) result.word = completed_value(own.words().front(), &result.words);
  if (own.takes_settings()) {
    config::SettingsReading scratch;
    add_flags(settings_table(scratch), &result);
    result.word = Completed::files;
  }
  CompletableFlag help;
  help.names = {"--help"};
  help.help = "Print help and end.";
  result.flags.push_back(std::move(help));
  return result;
}

}  // namespace

std::vector<CompletableVerb> completable_verbs() {
  std::vector<CompletableVerb> result;
  for (const Verb& verb : verbs()) {
    const std::string name(verb.name);
    if (verb.parts.empty()) result.push_back(completable(verb, name, ""));
    for (const Verb& part : verb.parts) result.push_back(completable(part, name, std::string(part.name)));
  }
  return result;
}

}  // namespace troika::commands
