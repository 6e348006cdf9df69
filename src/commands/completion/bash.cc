#include <fmt/format.h>

#include <map>

#include "base/text.h"
#include "commands/completion/scripts.h"

namespace troika::commands {
namespace {

// Finds the verb and the flag before the word at hand; what may stand there is asked of the generated functions. Behind
// `launch ... --` the verb that each rank runs counts.
constexpr const char* bash_frame = R"SH(
_troika() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} verb=${COMP_WORDS[1]} part= i
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "$_troika_verbs --help" -- "$cur"))
    return
  fi
  local first=2
  if [ "$verb" = launch ]; then
    for ((i = 2; i < COMP_CWORD; i++)); do
      case ${COMP_WORDS[i]} in train|eval|bench|probe) verb=${COMP_WORDS[i]}; first=$((i + 1)); break;; esac
    done
    if [ "$verb" = launch ] && [ "$prev" = -- ]; then
      COMPREPLY=($(compgen -W "train eval bench probe" -- "$cur"))
      return
    fi
  fi
  local parts=$(_troika_parts "$verb")
  if [ -n "$parts" ]; then
    if [ "$COMP_CWORD" -eq "$first" ]; then
      COMPREPLY=($(compgen -W "$parts --help" -- "$cur"))
      return
    fi
    part=${COMP_WORDS[first]}
  fi
  # bash takes --name=value apart
  if [ "$cur" = = ]; then cur=; elif [ "$prev" = = ]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi
  local flag=${prev//_/-} _troika_value=files _troika_words=
  case $flag in
    --*) _troika_flag "$verb $part" "$flag" || _troika_word "$verb $part";;
    *) _troika_word "$verb $part";;
  esac
  case $cur in
    -*) [ "$_troika_value" = words ] || COMPREPLY=($(compgen -W "$(_troika_flags "$verb $part")" -- "${cur//_/-}"));;
    *)
      COMPREPLY=($(compgen -W "$_troika_words" -- "$cur"))
      local IFS=$'\n'
      case $_troika_value in
        files) COMPREPLY+=($(compgen -f -- "$cur"));;
        folders) COMPREPLY+=($(compgen -d -- "$cur"));;
      esac;;
  esac
}
complete -o filenames -F _troika troika
)SH";

std::string_view kind_word(Completed value) {
  switch (value) {
    case Completed::words:
      return "words";
    case Completed::folders:
      return "folders";
    case Completed::files:
      return "files";
    case Completed::nothing:
      break;
  }
  return "nothing";
}

std::string assignment(Completed value, const std::vector<std::string>& words) {
  return fmt::format("_troika_value={}; _troika_words='{}'", kind_word(value), base::join(words, " "));
}

std::vector<std::string> all_names(const CompletableFlag& flag) {
  std::vector<std::string> names = flag.names;
  names.insert(names.end(), flag.other_names.begin(), flag.other_names.end());
  return names;
}

std::string key_of(const CompletableVerb& verb) { return fmt::format("'{} {}'", verb.name, verb.part); }

std::string flags_function(const std::vector<CompletableVerb>& verbs) {
  std::string text = "_troika_flags() {\n  case $1 in\n";
  for (const CompletableVerb& verb : verbs) {
    std::vector<std::string> names;
    for (const CompletableFlag& flag : verb.flags) names.insert(names.end(), flag.names.begin(), flag.names.end());
    text += fmt::format("    {}) echo '{}';;\n", key_of(verb), base::join(names, " "));
  }
  return text + "  esac\n}\n";
}

// Fails for a flag that stands alone.
std::string flag_function(const std::vector<CompletableVerb>& verbs) {
  std::string text = "_troika_flag() {\n  case \"$1 $2\" in\n";
  for (const CompletableVerb& verb : verbs) {
    std::map<std::string, std::vector<std::string>> patterns;  // by what they do
    for (const CompletableFlag& flag : verb.flags) {
      if (!flag.takes_value && flag.value == Completed::nothing) continue;
      for (const std::string& name : all_names(flag))
        patterns[assignment(flag.value, flag.words)].push_back(fmt::format("'{} {} {}'", verb.name, verb.part, name));
    }
    for (const auto& [action, names] : patterns) text += fmt::format("    {}) {};;\n", base::join(names, "|"), action);
  }
  return text + "    *) return 1;;\n  esac\n}\n";
}

std::string word_function(const std::vector<CompletableVerb>& verbs) {
  std::string text = "_troika_word() {\n  case $1 in\n";
  for (const CompletableVerb& verb : verbs)
    text += fmt::format("    {}) {};;\n", key_of(verb), assignment(verb.word, verb.words));
  return text + "  esac\n}\n";
}

std::string names_and_parts(const std::vector<CompletableVerb>& verbs) {
  std::map<std::string, std::vector<std::string>> parts;
  std::vector<std::string> names;
  for (const CompletableVerb& verb : verbs) {
    if (names.empty() || names.back() != verb.name) names.push_back(verb.name);
    if (!verb.part.empty()) parts[verb.name].push_back(verb.part);
  }
  std::string text = fmt::format("_troika_verbs='{}'\n_troika_parts() {{\n  case $1 in\n", base::join(names, " "));
  for (const auto& [name, of_it] : parts) text += fmt::format("    {}) echo '{}';;\n", name, base::join(of_it, " "));
  return text + "  esac\n}\n";
}

}  // namespace

std::string bash_script(const std::vector<CompletableVerb>& verbs) {
  return "# bash completion of troika, printed by: troika completion bash\n" + names_and_parts(verbs) +
         flags_function(verbs) + flag_function(verbs) + word_function(verbs) + bash_frame;
}

}  // namespace troika::commands
