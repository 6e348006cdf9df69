#include "commands/completion/scripts.h"

namespace troika::commands {

const char* const fish_script = R"SH(# fish completion of troika, printed by: troika completion fish
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

}  // namespace troika::commands
