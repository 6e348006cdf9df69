#include "commands/completion/completion.h"

#include "commands/completion/scripts.h"

namespace troika::commands {

config::FlagTable completion_flags(CompletionArguments& a) {
  config::FlagTable table("troika completion");
  table.usage("bash|zsh|fish");
  table.word("SHELL", a.shell, "bash, zsh or fish.").words(words_of(Shell{})).required();
  table.paragraph(
      "bash: source <(troika completion bash)\n"
      "zsh:  troika completion zsh > a folder of $fpath, as _troika\n"
      "fish: troika completion fish > ~/.config/fish/completions/troika.fish");
  return table;
}

CompletionArguments parse_completion_arguments(const std::vector<std::string>& words) {
  CompletionArguments a;
  const config::FlagTable table = completion_flags(a);
  config::read_flags({&table}, words).finish();
  return a;
}

std::string completion_script(Shell shell) {
  switch (shell) {
    case Shell::bash:
      return bash_script(completable_verbs());
    case Shell::zsh:
      return zsh_script(completable_verbs());
    case Shell::fish:
      break;
  }
  return fish_script(completable_verbs());
}

}  // namespace troika::commands
