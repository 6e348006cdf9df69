#include "commands/generate/end_marks.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/text.h"
#include "config/choices.h"
#include "data/open_chat_template.h"

namespace troika::commands {
namespace {

std::string behind_answer(const data::ChatTemplate& chat_template) {
  const std::string answer = "An answer.";
  data::Conversation conversation;
  conversation.messages() = {{{"role", "user"}, {"content", "A question?"}},
                             {{"role", "assistant"}, {"content", answer}}};
  const std::string text = chat_template.render(conversation, data::ChatTemplate::End::conversation);
  const std::size_t place = text.rfind(answer);
  return place == std::string::npos ? "" : base::trim(text.substr(place + answer.size()));
}

}  // namespace

void add_end_marks(const data::ChatTemplate& chat_template, const tokenizer::Tokenizer& tokenizer,
                   inference::TextOptions* options) {
  const std::string behind = behind_answer(chat_template);
  for (const std::string& mark : {behind, chat_template.end_mark()}) {
    const auto ids = tokenizer.encode(mark);
    if (ids.size() == 1 && std::count(options->stop_ids.begin(), options->stop_ids.end(), ids[0]) == 0)
      options->stop_ids.push_back(ids[0]);
    if (ids.size() > 1 && mark == behind &&
        std::count(options->stop_texts.begin(), options->stop_texts.end(), mark) == 0)
      options->stop_texts.push_back(mark);
  }
}

void add_end_marks_of_run(const std::string& choice, const std::string& tokenizer_name,
                          const tokenizer::Tokenizer& tokenizer, inference::TextOptions* options) {
  const bool there = data::find_built_in_template(choice) != nullptr || base::file_exists(choice);
  if (choice == config::tokenizers_template || !there) return;
  const std::string end_text = tokenizer.id_to_bytes(tokenizer.end_of_document_id());
  add_end_marks(data::open_chat_template(choice, tokenizer_name, false, end_text), tokenizer, options);
}

}  // namespace troika::commands
