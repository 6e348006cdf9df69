#include "commands/chat/arguments.h"

#include <CLI/CLI.hpp>

namespace troika::commands {
namespace {

void declare_conversation(CLI::App& app, ChatArguments& a) {
  app.add_option("--system", a.system, "the system message; default: what the chat template says without one");
  app.add_option("--data.chat-template,--chat-template", a.chat_template,
                 "auto: the tokenizer's own; chatml, alpaca; or a Jinja file (default: what the run was trained with, "
                 "or auto)");
  app.add_option("--thinking", a.thinking, "true or false: enable_thinking of the chat template (default true)");
  app.add_flag("--hide-thinking", a.hide_thinking, "leave out what stands in <think>...</think>");
  app.add_option("--context", a.context, "the most tokens of a conversation; 0: as many as the model has (default 0)")
      ->check(CLI::Range(0, 100000000));
  app.add_flag("--stats", a.stats,
               "print on stderr, after each answer, tokens read, tokens kept and tokens per second");
}

void declare_files(CLI::App& app, ChatArguments& a) {
  app.add_option(
      "--input", a.input,
      "JSONL file with {\"messages\": [...]} on each line, and \"tools\" where there are any; needs --output. "
      "Line i, from 0, is drawn with seed + i");
  app.add_option("--output", a.output,
                 "JSONL file for the lines of --input, in their order, the answer as last message, with the members "
                 "tokens and finish (stop, length)");
  app.add_option("--batch", a.together, "conversations of --input that are continued at a time (default 8)")
      ->check(CLI::Range(1, 4096));
}

}  // namespace

ChatArguments parse_chat_arguments(const std::vector<std::string>& words) {
  ChatArguments a;
  CLI::App app("talks with a model; without a terminal, each line of the standard input is a turn", "troika chat");
  declare_conversation(app, a);
  declare_files(app, a);
  declare_text_flags(app, a);
  parse_text_flags(app, words, a);
  if (a.help) return a;
  check_text_arguments(app.get_name(), a);
  if (a.input.has_value() != a.output.has_value())
    refuse_arguments(app.get_name(), "--input and --output belong together: give both");
  return a;
}

}  // namespace troika::commands
