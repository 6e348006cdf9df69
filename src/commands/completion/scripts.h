// The scripts of `troika completion`, one per shell.
#pragma once

#include <string>
#include <vector>

#include "commands/completion/completable.h"

namespace troika::commands {

std::string bash_script(const std::vector<CompletableVerb>& verbs);
std::string zsh_script(const std::vector<CompletableVerb>& verbs);
std::string fish_script(const std::vector<CompletableVerb>& verbs);

}  // namespace troika::commands
