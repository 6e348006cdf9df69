#include "commands/chat/dialogue.h"

#include <fmt/format.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/say.h"
#include "base/terminal_text.h"
#include "commands/chat/thinking.h"
#include "commands/generate/prompts.h"
#include "data/plain_text.h"

namespace troika::commands {

using Json = nlohmann::ordered_json;

Prompt prompt_of(const data::Conversation& conversation, const Speaker& speaker, base::Origin what) {
  data::Conversation written = conversation;
  const std::string mark = data::mark_control_tokens(*speaker.tokenizer, data::Plain::all_but_answers, &written);
  const std::string text = speaker.chat_template->render(written, data::ChatTemplate::End::answer_begins);
  const Prompt prompt{data::encode_marked(text, mark, *speaker.tokenizer), opened_thinking(text)};
  check_ids(prompt.ids, speaker.vocab, what);
  const std::int64_t context = speaker.model->context();
  if (static_cast<std::int64_t>(prompt.ids.size()) >= context)
    throw base::ConfigError(
        base::say("{} has {} tokens, which leaves no room for an answer where there are {} positions", what,
                    prompt.ids.size(), context));
  return prompt;
}

Json Dialogue::messages() const {
  Json all = Json::array();
  if (!system_.empty()) all.push_back({{"role", "system"}, {"content", system_}});
  all.insert(all.end(), turns_.begin(), turns_.end());
  return all;
}

bool Dialogue::undo() {
  if (turns_.empty()) return false;
  turns_.erase(turns_.end() - 2, turns_.end());
  return true;
}

void Dialogue::begin(const Prompt& prompt) {
  if (text_)
    text_->restart(prompt.ids);
  else
    text_ = std::make_unique<inference::Text>(*speaker_.model, *speaker_.tokenizer, prompt.ids, speaker_.options);
}

std::string Dialogue::draw(const Prompt& prompt, const OnBytes& on_bytes, const std::function<bool()>& interrupted,
                           Answer* answer) {
  std::string bytes = prompt.opened;
  on_bytes(bytes);
  const double begin = base::monotonic_seconds();
  double first = begin;
  bool stopped = false;
  while (!text_->ended() && !(stopped = interrupted())) {
    advance(*speaker_.model, {text_.get()});
    if (first == begin) first = base::monotonic_seconds();
    const std::string more = text_->take();
    bytes += more;
    on_bytes(more);
  }
  answer->read_seconds = first - begin;
  answer->drawn_seconds = base::monotonic_seconds() - first;
  answer->drawn = text_->tokens();
  answer->end = stopped                                      ? Answer::End::interrupted
                : text_->finish() == inference::Finish::stop ? Answer::End::stop
                                                             : Answer::End::length;
  return base::valid_utf8(bytes);
}

Answer Dialogue::answer(const std::string& user, const OnBytes& on_bytes, const std::function<bool()>& interrupted) {
  const Json question = {{"role", "user"}, {"content", user}};
  Json asked = messages();
  asked.push_back(question);
  const Prompt prompt = prompt_of({asked, nullptr}, speaker_, base::say("the conversation"));
  begin(prompt);
  Answer answer;
  answer.read = static_cast<std::int64_t>(prompt.ids.size());
  answer.kept = text_->kept();
  const std::string content = draw(prompt, on_bytes, interrupted, &answer);
  turns_.push_back(question);
  turns_.push_back({{"role", "assistant"}, {"content", content}});
  return answer;
}

}  // namespace troika::commands
