#include "commands/completion/scripts.h"

namespace troika::commands {

const char* const zsh_script = R"SH(#compdef troika
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

}  // namespace troika::commands
