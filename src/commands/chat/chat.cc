#include "commands/chat/chat.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "base/say.h"
#include "commands/chat/arguments.h"
#include "commands/chat/conversations.h"
#include "commands/chat/dialogue.h"
#include "commands/chat/session.h"
#include "commands/generate/end_marks.h"
#include "commands/generate/prepared.h"
#include "data/open_chat_template.h"
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

}  // namespace troika::commands
