#include "commands/completion/scripts.h"

namespace troika::commands {

// bash takes words apart at '=' and ':'; they are put together for troika, and what stands before the last of them is cut off
// the answers. Paths are left to readline, which quotes them, but where words or names of one kind stand beside them.
const char* const bash_script = R"SH(# bash completion of troika, printed by: troika completion bash
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

}  // namespace troika::commands
