#include "commands/chat/dialogue.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/say.h"
#include "base/terminal_text.h"
#include "base/text.h"
#include "commands/chat/thinking.h"
#include "commands/generate/prompts.h"
#include "data/conversations.h"
#include "data/plain_text.h"

namespace troika::commands {

using Json = nlohmann::ordered_json;

Prompt prompt_of(const data::Conversation& conversation, const Speaker& speaker, base::Origin what) {
  data::Conversation written = conversation;
  const std::string mark = data::mark_control_tokens(*speaker.tokenizer, data::Plain::all_but_answers, &written);
  const std::string text = speaker.chat_template->render(written, data::ChatTemplate::End::answer_begins);
  const Prompt prompt{data::encode_marked(text, mark, *speaker.tokenizer, tokenizer::Before::nothing),
                      opened_thinking(text)};
  check_ids(prompt.ids, speaker.vocab, what);
  const std::int64_t context = speaker.model->context();
  if (static_cast<std::int64_t>(prompt.ids.size()) >= context)
    throw base::ConfigError(
        base::say("{} has {} tokens, which leaves no room for an answer within {} positions", what,
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

namespace {
using Json = nlohmann::ordered_json;

void check_messages(const Json& object, const base::Text& origin) {
  const auto found = object.is_object() ? object.find("messages") : object.end();
  if (!object.is_object() || found == object.end() || !found->is_array() || found->empty())
    throw base::DataError(base::say("{} has no key \"messages\" with at least one message", origin));
  for (const Json& message : *found)
    if (!message.is_object() || !message.contains("role") || !message["role"].is_string())
      throw base::DataError(base::say("{} has a message without a text \"role\"", origin));
  if (found->back()["role"] == "assistant")
    throw base::DataError(base::say("{} ends with an answer; the last message must be the user's, or a tool's", origin));
}

void put_system_first(const std::string& system, Json* messages) {
  if (!system.empty() && (*messages)[0]["role"] != "system")
    messages->insert(messages->begin(), Json{{"role", "system"}, {"content", system}});
}

data::Conversation conversation_of(const Json& object, const base::Text& origin) {
  data::Conversation conversation{object["messages"], object.contains("tools") ? object["tools"] : Json(nullptr)};
  for (Json& message : conversation.messages()) {
    if (message.contains("content") && message["content"].is_array())
      message["content"] = data::text_of_content(message["content"], "content", origin);
    data::prepare_for_template(&message);
  }
  return conversation;
}

ConversationLine parse_line(const std::string& line, int number, const std::string& path, const std::string& system) {
  const base::Text origin = base::say("line {} of '{}'", number, path);
  ConversationLine one{Json::parse(line, nullptr, false), {}, number};
  if (one.object.is_discarded()) throw base::DataError(base::say("{} is not valid JSON", origin));
  check_messages(one.object, origin);
  Json exact = base::parse_ordered_json(line, origin);  // with every digit of its integers
  for (Json* read : {&one.object, &exact}) put_system_first(system, &(*read)["messages"]);
  one.conversation = conversation_of(exact, origin);
  return one;
}

}  // namespace

std::vector<ConversationLine> read_conversations(const std::string& path, const std::string& system) {
  std::vector<ConversationLine> lines;
  int number = 0;
  for (const std::string& line : base::split(base::read_file(path), '\n')) {
    ++number;
    if (base::trim(line).empty()) continue;
    lines.push_back(parse_line(line, number, path, system));
  }
  if (lines.empty()) throw base::DataError(base::say("'{}' holds no conversations", path));
  return lines;
}

void answer_conversations(const ChatArguments& a, const Speaker& speaker, base::Language language) {
  std::vector<ConversationLine> lines = read_conversations(*a.input, a.system);
  inference::Batch batch;
  batch.options = speaker.options;
  batch.together = a.together;
  std::vector<std::string> opened;
  for (const ConversationLine& line : lines) {
    Prompt prompt = prompt_of(line.conversation, speaker, base::say("the conversation of line {}", line.number));
    batch.prompts.push_back(std::move(prompt.ids));
    opened.push_back(std::move(prompt.opened));
  }
  OrderedLines output(*a.output);
  BatchProgress progress(lines.size(), language);
  std::size_t ended = 0;
  const auto on_end = [&](std::size_t i, inference::Text& text) {
    std::string content = base::valid_utf8(opened[i] + text.take());
    if (a.hide_thinking) content = without_thinking(content);
    Json& object = lines[i].object;
    object["messages"].push_back({{"role", "assistant"}, {"content", content}});
    object["tokens"] = text.tokens();
    object["finish"] = text.finish() == inference::Finish::stop ? "stop" : "length";
    output.add(i, base::printable_json(object.dump(-1, ' ', false, Json::error_handler_t::replace)) + "\n");
    ++ended;
  };
  continue_all(*speaker.model, *speaker.tokenizer, batch, on_end, [&](std::size_t drawn) {
    progress.add(drawn);
    progress.show(ended);
  });
}

}  // namespace troika::commands
