#include "commands/completion/completion.h"

#include <fmt/format.h>

#include "commands/completion/scripts.h"

namespace troika::commands {
namespace {

std::string_view paths_word(Paths paths) {
  switch (paths) {
    case Paths::files:
      return "files";
    case Paths::folders:
      return "folders";
    case Paths::settings_files:
      return "settings";
    case Paths::none:
      break;
  }
  return "none";
}

// _describe of zsh takes the first colon for the end of the word.
std::string with_colons_kept(const std::string& word) {
  std::string result;
  for (const char c : word) {
    if (c == ':' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

template <class Line>
std::string answer_lines(const Candidates& candidates, const Line& line) {
  std::string text;
  for (const Candidate& candidate : candidates.words) text += line(candidate) + "\n";
  return text + fmt::format(":{}\n", paths_word(candidates.paths));
}

std::string with_help(const std::string& word, char separator, const std::string& help) {
  return help.empty() ? word : word + separator + help;
}

std::string script_of(Shell shell) {
  switch (shell) {
    case Shell::bash:
      return bash_script;
    case Shell::zsh:
      return zsh_script;
    case Shell::fish:
      break;
  }
  return fish_script;
}

std::string answer_for(Shell shell, const Candidates& candidates) {
  switch (shell) {
    case Shell::bash:
      return answer_for_bash(candidates);
    case Shell::zsh:
      return answer_for_zsh(candidates);
    case Shell::fish:
      break;
  }
  return answer_for_fish(candidates);
}

}  // namespace

std::string answer_for_bash(const Candidates& candidates) {
  return answer_lines(candidates, [](const Candidate& one) { return one.word; });
}

std::string answer_for_zsh(const Candidates& candidates) {
  return answer_lines(candidates,
                      [](const Candidate& one) { return with_help(with_colons_kept(one.word), ':', one.help); });
}

std::string answer_for_fish(const Candidates& candidates) {
  return answer_lines(candidates, [](const Candidate& one) { return with_help(one.word, '\t', one.help); });
}

config::FlagTable completion_flags(CompletionArguments& a) {
  config::FlagTable table("troika completion");
  table.usage("bash|zsh|fish");
  table.usage("bash|zsh|fish -- WORD ...");
  table.word("SHELL", a.shell, "bash, zsh or fish.").words(words_of(Shell{})).required();
  table.word("WORD", a.words, "Instead of the script what it asks for: what may stand for the last word.")
      .unset("none");
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

std::string completion_report(const CompletionArguments& a, base::Language language) {
  return a.words.empty() ? script_of(a.shell) : answer_for(a.shell, candidates_for(a.words, language));
}

}  // namespace troika::commands
