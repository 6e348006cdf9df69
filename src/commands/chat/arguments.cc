#include "commands/chat/arguments.h"

#include "base/say.h"

namespace troika::commands {
namespace {

void add_conversation_flags(config::FlagTable& table, ChatArguments& a) {
  table.add("system", a.system, "The system message.").unset("what the chat template says without one").any_word();
  table.add("chat-template", a.chat_template, "auto: the tokenizer's own; chatml, alpaca; or a Jinja file.")
      .familiar({"data.chat-template"})
      .words(config::Words<3>{"auto", "chatml", "alpaca"})
      .unset("what the run was trained with, or auto");
  table.add("thinking", a.thinking, "enable_thinking of the chat template.");
  table.add("hide-thinking", a.hide_thinking, "Leave out what stands in <think>...</think>.").alone();
  table.add("context", a.context, "The most tokens of a conversation; 0: as many as the model has.")
      .range(0, 100000000);
  table.add("stats", a.stats, "Print on stderr, after each answer, tokens read, tokens kept and tokens per second.")
      .alone();
}

void add_files(config::FlagTable& table, ChatArguments& a) {
  table
      .add("input", a.input,
           "JSONL with {\"messages\": [...]} on each line, and \"tools\" where there are any; needs --output. Line i, "
           "from 0, is drawn with seed + i.")
      .shown("FILE")
      .unset("none");
  table
      .add("output", a.output,
           "JSONL for the lines of --input, in their order, the answer as last message, with the keys tokens and "
           "finish (stop, length).")
      .shown("FILE")
      .unset("none");
  table.add("batch", a.together, "Conversations of --input that are continued at a time.").range(1, 4096);
}

}  // namespace

config::FlagTable chat_flags(ChatArguments& a) {
  config::FlagTable table("troika chat");
  table.usage("PATH [flags]");
  table.usage("PATH --input FILE --output FILE [flags]");
  table.paragraph("Where the standard input is no terminal, each line of it is a turn.");
  add_conversation_flags(table, a);
  add_files(table, a);
  add_text_flags(table, a);
  return table;
}

ChatArguments parse_chat_arguments(const std::vector<std::string>& words) {
  ChatArguments a;
  const config::FlagTable table = chat_flags(a);
  config::FlagReading reading = config::read_flags({&table}, words);
  check_text_arguments(a, &reading);
  if (a.input.has_value() != a.output.has_value()) reading.refuse(base::say("--input and --output belong together: give both"));
  reading.finish();
  return a;
}

}  // namespace troika::commands
