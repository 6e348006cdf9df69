#include "commands/completion/completion.h"

#include <fmt/format.h>

namespace troika::commands {

enum class Shell { bash, zsh, fish };
constexpr config::Words<3> words_of(Shell) { return {"bash", "zsh", "fish"}; }

namespace {

struct CompletionArguments {
  Shell shell = Shell::bash;
  std::vector<std::string>
      words;  // of a command line behind "troika", up to the cursor; empty: the script is asked for
};

config::FlagTable declare_completion(CompletionArguments& a) {
  config::FlagTable table("troika completion");
  table.usage("bash|zsh|fish");
  table.usage("bash|zsh|fish -- WORD ...");
  table.word("SHELL", a.shell, "bash, zsh or fish.").words(words_of(Shell{})).required();
  table.word("WORD", a.words, "Instead of the script, print its candidates for the last word.")
      .unset("none");
  table.paragraph(
      "bash: source <(troika completion bash)\n"
      "zsh:  troika completion zsh > a folder of $fpath, as _troika\n"
      "fish: troika completion fish > ~/.config/fish/completions/troika.fish");
  return table;
}

// Each asks `troika completion SHELL -- WORD ...` at every Tab.
constexpr const char* bash_script = R"SH(# bash completion of troika, printed by: troika completion bash
_troika() {
  local program=${COMP_WORDS[0]/#\~/$HOME} typed=${COMP_WORDS[COMP_CWORD]} line paths= i
  local -a words=()
  for ((i = 1; i <= COMP_CWORD; i++)); do
    if [ ${#words[@]} -gt 0 ] && [[ ${COMP_WORDS[i]} == [=:] || ${words[-1]} == --*[=:] || ( $i -gt 2 && ${COMP_WORDS[i-1]} == : ) ]]; then
      words[-1]+=${COMP_WORDS[i]}
    else
      words+=("${COMP_WORDS[i]}")
    fi
  done
  [[ $typed != [=:] ]] || typed=
  local before=$((${#words[-1]} - ${#typed}))
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      :*) paths=${line#:} ;;
      *) COMPREPLY+=("${line:before}") ;;
    esac
  done < <("$program" completion bash -- "${words[@]}" 2> /dev/null)
  case $paths in
    files)
      if [ ${#COMPREPLY[@]} -gt 0 ]; then
        compopt -o filenames
        while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$typed")
      else
        compopt -o default
      fi ;;
    folders) compopt -o dirnames ;;
    settings)
      compopt -o filenames -o default
      while IFS= read -r line; do COMPREPLY+=("$line"); done < <(
        compgen -d -- "$typed"
        compgen -f -X '!*.yaml' -- "$typed"
        compgen -f -X '!*.yml' -- "$typed"
      ) ;;
  esac
}
complete -F _troika troika
)SH";

constexpr const char* zsh_script = R"SH(#compdef troika
# zsh completion of troika, printed by: troika completion zsh
_troika() {
  local program=${(Q)words[1]} paths
  local -a typed answers
  program=${program/#\~/$HOME}
  typed=("${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}")
  answers=("${(@f)$($program completion zsh -- "${(@)typed}" 2> /dev/null)}")
  paths=${answers[-1]}
  answers[-1]=()
  local found=1
  if (( $#answers )); then
    _describe -t words 'troika' answers && found=0
  fi
  [[ $PREFIX != --*=* ]] || compset -P '*='
  case $paths in
    :files) _files && found=0 ;;
    :folders) _files -/ && found=0 ;;
    :settings) _files -g '*.(yaml|yml)' && found=0 ;;
  esac
  return found
}
# As a file in $fpath this text is the body of _troika on its first call.
if [[ $funcstack[1] = _troika ]]; then _troika "$@"; else compdef _troika troika; fi
)SH";

constexpr const char* fish_script = R"SH(# fish completion of troika, printed by: troika completion fish
function __troika_candidates
    set -l words (commandline -opc)
    set -l typed (commandline -ct)
    set -l program (string replace -r '^~' $HOME -- $words[1])
    set -l answers ($program completion fish -- $words[2..] "$typed" 2>/dev/null)
    set -l before (string match -r -- '^--[^=]*=' "$typed")
    set -l value (string replace -r -- '^--[^=]*=' '' "$typed")
    for answer in $answers
        switch $answer
            case ':*'
            case '*'
                echo $answer
        end
    end
    switch "$answers[-1]"
        case ':files'
            printf '%s\n' "$before"(__fish_complete_path (string unescape -- $value))
        case ':folders'
            printf '%s\n' "$before"(__fish_complete_directories $value '')
        case ':settings'
            printf '%s\n' "$before"(__fish_complete_path (string unescape -- $value) | string match -r '.*(?:/|\.ya?ml)(?:\t.*)?$')
    end
end
complete -c troika -f -a '(__troika_candidates)'
)SH";

// _describe of zsh takes the first colon for the end of the word.
std::string with_colons_kept(const std::string& word) {
  std::string result;
  for (const char c : word) {
    if (c == ':' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

// The answer that the scripts read: a line for each word, in which a tab (fish) or a colon (zsh) precedes its help, and a last line
// with the paths: ":none", ":files", ":folders" or ":settings".
std::string answer_for(Shell shell, const Candidates& candidates) {
  constexpr const char* paths[] = {"none", "files", "folders", "settings"};
  std::string text;
  for (const Candidate& one : candidates.words) {
    text += shell == Shell::zsh ? with_colons_kept(one.word) : one.word;
    if (shell != Shell::bash && !one.help.empty()) text += (shell == Shell::zsh ? ':' : '\t') + one.help;
    text += '\n';
  }
  return text + fmt::format(":{}\n", paths[static_cast<std::size_t>(candidates.paths)]);
}

}  // namespace

std::string completion_report(const Words& words, base::Language language) {
  const CompletionArguments a = read_arguments(words, declare_completion);
  constexpr const char* scripts[] = {bash_script, zsh_script, fish_script};
  if (a.words.empty()) return scripts[static_cast<std::size_t>(a.shell)];
  return answer_for(a.shell, candidates_for(a.words, language));
}

config::FlagTable completion_flags() { return unbound<CompletionArguments, declare_completion>(); }

}  // namespace troika::commands
