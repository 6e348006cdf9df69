#include <fmt/format.h>

#include "base/text.h"
#include "commands/completion/scripts.h"

namespace troika::commands {
namespace {

std::string quoted_for_fish(const std::string& text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') result += '\\';
    result += c;
  }
  return result + "'";
}

std::string when(const CompletableVerb& verb) {
  std::string text = "__fish_seen_subcommand_from " + verb.name;
  if (!verb.part.empty()) text += "; and __fish_seen_subcommand_from " + verb.part;
  return quoted_for_fish(text);
}

std::string fish_value(const CompletableFlag& flag) {
  std::string text;
  if (!flag.words.empty()) text += " -a " + quoted_for_fish(base::join(flag.words, " "));
  switch (flag.value) {
    case Completed::words:
      return (flag.takes_value ? " -x" : " -f") + text;  // of true and false the flag alone is enough
    case Completed::folders:
      return " -x -a '(__fish_complete_directories)'" + text;
    case Completed::files:
      return " -r -F" + text;
    case Completed::nothing:
      break;
  }
  return flag.takes_value ? " -x" : "";
}

std::string fish_flags(const CompletableVerb& verb) {
  std::string text;
  for (const CompletableFlag& flag : verb.flags) {
    for (const std::string& name : flag.names)
      text += fmt::format("complete -c troika -n {} -l {} -d {}{}\n", when(verb), name.substr(2),
                          quoted_for_fish(flag.help), fish_value(flag));
  }
  return text;
}

std::string fish_words(const CompletableVerb& verb) {
  std::string text;
  if (!verb.words.empty())
    text += fmt::format("complete -c troika -n {} -a {}\n", when(verb), quoted_for_fish(base::join(verb.words, " ")));
  if (verb.word == Completed::files) text += fmt::format("complete -c troika -n {} -F\n", when(verb));
  return text;
}

}  // namespace

std::string fish_script(const std::vector<CompletableVerb>& verbs) {
  std::string text = "# fish completion of troika, printed by: troika completion fish\ncomplete -c troika -f\n";
  std::string last;
  for (const CompletableVerb& verb : verbs) {
    if (verb.name != last) {
      text += fmt::format("complete -c troika -n __fish_use_subcommand -a {} -d {}\n", verb.name,
                          quoted_for_fish(verb.part.empty() ? verb.help : ""));
    }
    if (!verb.part.empty()) {
      text += fmt::format("complete -c troika -n '__fish_seen_subcommand_from {}' -a {} -d {}\n", verb.name, verb.part,
                          quoted_for_fish(verb.help));
    }
    last = verb.name;
    text += fish_flags(verb) + fish_words(verb);
  }
  return text;
}

}  // namespace troika::commands
