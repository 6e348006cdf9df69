#include <fmt/format.h>

#include <map>

#include "base/text.h"
#include "commands/completion/scripts.h"

namespace troika::commands {
namespace {

// Behind `launch` the verb that each rank runs counts; words[n] is the verb, or its part.
constexpr const char* zsh_frame = R"SH(
_troika() {
  local i verb_at=2
  if (( CURRENT == 2 )); then
    _describe verb _troika_verbs
    return
  fi
  if [[ $words[2] == launch ]]; then
    for ((i = 3; i < CURRENT; i++)); do
      case $words[i] in train|eval|bench|probe) verb_at=$i; break;; esac
    done
  fi
  local verb=$words[verb_at]
  if [[ -n $_troika_parts[$verb] ]]; then
    if (( CURRENT == verb_at + 1 )); then
      compadd -- ${=_troika_parts[$verb]}
      return
    fi
    (( verb_at++ ))
    verb="$verb-$words[verb_at]"
  fi
  shift $((verb_at - 1)) words
  (( CURRENT -= verb_at - 1 ))
  (( $+functions[_troika_$verb] )) && _troika_$verb
}
# As a file in $fpath this text is the body of _troika on its first call.
if [[ $funcstack[1] = _troika ]]; then _troika "$@"; else compdef _troika troika; fi
)SH";

// Within '...' of an argument of _arguments.
std::string quoted_for_zsh(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '\'') {
      result += "'\\''";
    } else {
      if (c == '[' || c == ']' || c == ':' || c == '\\') result += '\\';
      result += c;
    }
  }
  return result;
}

std::string zsh_values(Completed value, const std::vector<std::string>& words) {
  switch (value) {
    case Completed::words:
      return fmt::format(":value:({})", base::join(words, " "));
    case Completed::folders:
      return ":folder:_files -/";
    case Completed::files:
      return words.empty()
                 ? ":file:_files"
                 : fmt::format(":value:_alternative \"words:word:({})\" \"files:file:_files\"", base::join(words, " "));
    case Completed::nothing:
      break;
  }
  return ":value: ";
}

std::string zsh_flag(const CompletableFlag& flag, const std::string& name) {
  const std::string help = quoted_for_zsh(flag.help);
  if (!flag.takes_value) return fmt::format("    '{}[{}]'\n", name, help);
  return fmt::format("    '*{}=[{}]{}'\n", name, help, zsh_values(flag.value, flag.words));
}

std::string zsh_function(const CompletableVerb& verb) {
  std::string text =
      fmt::format("_troika_{}{}{}() {{\n  local -a flags=(\n", verb.name, verb.part.empty() ? "" : "-", verb.part);
  for (const CompletableFlag& flag : verb.flags) {
    for (const std::string& name : flag.names) text += zsh_flag(flag, name);
  }
  if (verb.word != Completed::nothing) text += fmt::format("    '*{}'\n", zsh_values(verb.word, verb.words));
  return text + "  )\n  _arguments -S $flags\n}\n";
}

}  // namespace

std::string zsh_script(const std::vector<CompletableVerb>& verbs) {
  std::string text =
      "#compdef troika\n# zsh completion of troika, printed by: troika completion zsh\n_troika_verbs=(\n";
  std::string last, functions;
  std::map<std::string, std::string> parts;
  for (const CompletableVerb& verb : verbs) {
    if (verb.name != last)
      text += fmt::format("  '{}:{}'\n", verb.name, quoted_for_zsh(verb.part.empty() ? verb.help : verb.name));
    if (!verb.part.empty()) parts[verb.name] += verb.part + " ";
    last = verb.name;
    functions += zsh_function(verb);
  }
  text += ")\ntypeset -gA _troika_parts=(\n";
  for (const auto& [name, of_it] : parts) text += fmt::format("  {} '{}'\n", name, of_it);
  return text + ")\n" + functions + zsh_frame;
}

}  // namespace troika::commands
