#include "commands/chat/chat.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "base/say.h"
#include "commands/chat/dialogue.h"
#include "commands/chat/session.h"
#include "commands/generate/prepared.h"
#include "data/chat_template.h"
#include "tensor/device.h"

namespace troika::commands {
namespace {

Console console_of(const ChatArguments& a, base::Language language) {
  Console console;
  console.language = language;
  console.kind = ::isatty(STDIN_FILENO) == 1 ? Console::Kind::terminal : Console::Kind::pipe;
  console.in = stdin;
  console.out = stdout;
  console.notes = stderr;
  console.thinking = a.hide_thinking                ? ShowThinking::hidden
                     : ::isatty(STDOUT_FILENO) == 1 ? ShowThinking::dimmed
                                                    : ShowThinking::plain;
  console.stats = a.stats ? Console::Stats::each_answer : Console::Stats::none;
  return console;
}

void talk(const ChatArguments& a, const Speaker& speaker, Interrupt& interrupt, base::Language language) {
  const Console console = console_of(a, language);
  Dialogue dialogue(speaker, a.system);
  if (console.kind == Console::Kind::terminal)
    fmt::print(
        stderr, "{}\n",
        base::say("{} with {} positions; /help lists the commands", a.path, speaker.model->context()).in(language));
  Session(dialogue, console, interrupt, speaker.model->context()).run();
}

}  // namespace

int run_chat(const Call& call) {
  const ChatArguments a = parse_chat_arguments(call.words);
  Interrupt interrupt;
  if (a.threads > 0) tensor::set_threads(static_cast<int>(a.threads));
  Prepared prepared = prepare(a, call.language);
  const std::string choice = a.chat_template.empty() ? prepared.source->chat_template() : a.chat_template;
  const auto chat_template =
      data::open_chat_template(choice, prepared.tokenizer_name, a.thinking,
                               prepared.tokenizer->id_to_bytes(prepared.tokenizer->end_of_document_id()));
  add_end_marks(chat_template, *prepared.tokenizer, &prepared.options);
  prepared.options.before = tokenizer::Before::nothing;  // templates write the space in front of an answer
  tell_advice(prepared, call.language);
  const std::int64_t most = prepared.source->model().max_positions;
  const inference::TextModel model = open_text_model(a, prepared, a.context == 0 ? most : a.context);
  const Speaker speaker{&model, prepared.tokenizer.get(), &chat_template, prepared.source->model().vocab,
                        prepared.options};
  if (a.input)
    answer_conversations(a, speaker, call.language);
  else
    talk(a, speaker, interrupt, call.language);
  return 0;
}

namespace {

void add_conversation_flags(config::FlagTable& table, ChatArguments& a) {
  table.add("system", a.system, "The system message.").unset("the chat template's default").any_word();
  table.add("chat-template", a.chat_template, "auto: the tokenizer's own; chatml, alpaca; or a Jinja file.")
      .familiar({"data.chat-template"})
      .words(config::Words<3>{"auto", "chatml", "alpaca"})
      .unset("what the run was trained with, or auto");
  table.add("thinking", a.thinking, "enable_thinking for the chat template.");
  table.add("hide-thinking", a.hide_thinking, "Omit the text inside <think>...</think>.").alone();
  table.add("context", a.context, "Maximum tokens of a conversation; 0: as many as the model has.")
      .range(0, 100000000);
  table.add("stats", a.stats, "After each answer, print tokens read, tokens cached and tokens per second on stderr.")
      .alone();
}

void add_files(config::FlagTable& table, ChatArguments& a) {
  table
      .add("input", a.input,
           "JSONL with {\"messages\": [...]} on each line, and optionally \"tools\"; needs --output. Line i, from 0, is sampled with seed + i.")
      .shown("FILE")
      .unset("none");
  table
      .add("output", a.output,
           "JSONL output for the lines of --input, in order, with the answer as last message and the keys tokens and finish (stop, length).")
      .shown("FILE")
      .unset("none");
  table.add("batch", a.together, "How many conversations of --input to process at a time.").range(1, 4096);
}

}  // namespace

config::FlagTable chat_flags(ChatArguments& a) {
  config::FlagTable table("troika chat");
  table.usage("PATH [flags]");
  table.usage("PATH --input FILE --output FILE [flags]");
  table.paragraph("If standard input is not a terminal, each of its lines is a turn.");
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
  reading.finish();
  return a;
}

}  // namespace troika::commands
