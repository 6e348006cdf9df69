#include "data/conversations.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "base/say.h"
#include "base/text.h"
#include "data/json_records.h"

namespace troika::data {

struct Conversation::Parts {
  Json messages, tools;
  std::vector<std::string> masked_by;
};

Conversation::Conversation() : Conversation(nullptr, nullptr) {}
Conversation::Conversation(Json messages, Json tools, std::vector<std::string> masked_by)
    : parts_(std::make_unique<Parts>(Parts{std::move(messages), std::move(tools), std::move(masked_by)})) {}
Conversation::~Conversation() = default;
Conversation::Conversation(const Conversation& other) : parts_(std::make_unique<Parts>(*other.parts_)) {}
Conversation::Conversation(Conversation&& other) noexcept = default;
Conversation& Conversation::operator=(Conversation other) noexcept {
  parts_ = std::move(other.parts_);
  return *this;
}

const Json& Conversation::messages() const { return parts_->messages; }
Json& Conversation::messages() { return parts_->messages; }
const Json& Conversation::tools() const { return parts_->tools; }
Json& Conversation::tools() { return parts_->tools; }
std::string Conversation::masked_by(std::size_t message) const {
  return message < parts_->masked_by.size() ? parts_->masked_by[message] : "";
}

namespace {

using Says = LossMark::Says;

Json message_by(const char* role, const std::string& content) { return {{"role", role}, {"content", content}}; }

// Where pictures are in the text of other programs' records; no tag of HTML.
void refuse_picture_in(const std::string& text, const std::string& name, base::Origin origin) {
  if (text.find("<image>") != std::string::npos)
    throw base::DataError(base::say("{}: '{}' contains <image>, an image placeholder, but only text is trained on: remove the record", origin, name));
}

// The messages of a record, with what each says of its loss.
struct Marked {
  Json messages = Json::array();
  std::vector<LossMark> marks;

  void add(Json message, LossMark mark) {
    messages.push_back(std::move(message));
    marks.push_back(std::move(mark));
  }
};

Marked alpaca_messages(const Json& record, const Columns& columns, base::Origin origin) {
  Marked found;
  const auto add = [&](const char* role, const std::string& content) { found.add(message_by(role, content), {}); };
  if (const Json* history = find_key(record, columns.history)) {
    for (const Json& turn : as_array(*history, columns.history, origin)) {
      if (as_array(turn, columns.history, origin).size() != 2)
        throw base::DataError(base::say("{}: a turn of '{}' must be [question, answer], not {} texts", origin, columns.history, turn.size()));
      refuse_picture_in(as_string(turn[0], columns.history, origin), columns.history, origin);
      add("user", turn[0].get_ref<const std::string&>());
      add("assistant", as_string(turn[1], columns.history, origin));
    }
  }
  std::string prompt = string_or_empty(record, columns.prompt, origin);
  const std::string query = string_or_empty(record, columns.query, origin);
  if (prompt.empty() && query.empty()) required_key(record, columns.prompt, origin);
  prompt += (prompt.empty() || query.empty() ? "" : "\n") + query;
  refuse_picture_in(prompt, columns.prompt, origin);
  add("user", prompt);
  add("assistant", as_string(required_key(record, columns.response, origin), columns.response, origin));
  return found;
}

Json parsed_text(const std::string& text, const std::string& name, base::Origin origin) {
  return base::parse_ordered_json(text, base::say("{}: '{}'", origin, name));
}

// {"name": ..., "arguments": ...} or a list of those -> what templates know as tool_calls.
Json tool_calls_of(Json calls, const std::string& name, base::Origin origin) {
  Json result = Json::array();
  if (!calls.is_array()) calls = Json::array({calls});
  for (const Json& call : calls) {
    as_string(required_key(as_object(call, name, origin), "name", origin), name + ".name", origin);
    result.push_back({{"type", "function"}, {"function", call}});
  }
  return result;
}

// The calls of a message in the current form of OpenAI's interface, or in the form before tools; null if it calls
// nothing.
Json calls_of_message(const Json& given, const std::string& place, base::Origin origin) {
  const Json *calls = find_key(given, "tool_calls"), *call = find_key(given, "function_call");
  if (calls != nullptr && call != nullptr)
    throw base::DataError(base::say("{}: '{}' has both tool_calls and function_call: leave one of them out", origin, place));
  if (call != nullptr) {
    const std::string name = place + ".function_call";
    return tool_calls_of(call->is_string() ? parsed_text(*call, name, origin) : as_object(*call, name, origin), name,
                         origin);
  }
  if (calls == nullptr) return nullptr;
  const std::string name = place + ".tool_calls";
  const bool as_text = calls->is_string() && !base::trim(calls->get_ref<const std::string&>()).empty();
  Json list = as_text ? parsed_text(*calls, name, origin) : *calls;
  if (list.is_string() || as_array(list, name, origin).empty()) return nullptr;
  for (std::size_t i = 0; i < list.size(); ++i) as_object(list[i], fmt::format("{}[{}]", name, i), origin);
  return list;
}

Json message_of(const Json& given, const RecordShape& shape, const std::string& place, base::Origin origin) {
  const Tags& tags = shape.tags;
  const std::string role_name = place + "." + tags.role, content_name = place + "." + tags.content;
  as_object(given, place, origin);
  const Json* role = find_key(given, tags.role);
  if (role == nullptr) throw base::DataError(base::say("{}: '{}' is missing", origin, role_name));
  const std::string& word = as_string(*role, role_name, origin);
  const std::string ours = role_of(word, shape);
  if (ours.empty()) refuse_role(word, role_name, shape, origin);
  const Json* content = find_key(given, tags.content);
  const bool calls = !tags.function.empty() && word == tags.function;
  Json tool_calls = calls ? Json(nullptr) : calls_of_message(given, place, origin);
  if (content == nullptr && tool_calls.is_null() && find_key(given, "tool_calls") == nullptr)
    required_key(given, tags.content, origin, content_name);
  const std::string text = content == nullptr ? "" : text_of_content(*content, content_name, origin);
  if (ours == "user") refuse_picture_in(text, content_name, origin);
  if (calls) tool_calls = tool_calls_of(parsed_text(text, content_name, origin), content_name, origin);
  Json message{{"role", ours}, {"content", calls ? "" : text}};
  if (!tool_calls.is_null()) message["tool_calls"] = std::move(tool_calls);
  for (const auto& [name, value] : given.items()) {
    const bool taken = name == tags.role || name == tags.content || name == "tool_calls" || name == "function_call" ||
                       is_loss_mark(name, MarkOf::message);
    if (!taken && !message.contains(name)) message[name] = value;
  }
  prepare_for_template(&message);
  return message;
}

Marked listed_messages(const Json& record, const RecordShape& shape, base::Origin origin) {
  const std::string& name = shape.columns.messages;
  const Json given = list_of(required_key(record, name, origin), name, origin);
  Marked marked;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const std::string place = fmt::format("{}[{}]", name, i);
    Json message = message_of(given[i], shape, place, origin);
    marked.add(std::move(message), find_loss_mark(given[i], MarkOf::message, place, origin));
  }
  if (given.empty()) throw base::DataError(base::say("{}: '{}' has no messages", origin, name));
  return marked;
}

// A list, or such a list as text; a description without its wrapping is wrapped, as published templates print them.
Json tools_named(const Json& record, const std::string& name, base::Origin origin) {
  const Json* given = find_key(record, name);
  if (given == nullptr || (given->is_string() && base::trim(given->get_ref<const std::string&>()).empty()))
    return nullptr;
  const Json list = given->is_string() ? parsed_text(*given, name, origin) : *given;
  Json tools = Json::array();
  for (const Json& tool : as_array(list, name, origin)) {
    const std::string place = fmt::format("{}[{}]", name, tools.size());
    const bool bare = find_key(as_object(tool, place, origin), "type") == nullptr;
    tools.push_back(bare ? Json{{"type", "function"}, {"function", tool}} : tool);
  }
  return tools.empty() ? Json(nullptr) : tools;
}

// `functions`: what OpenAI's interface had before there were tools.
Json tools_of(const Json& record, const std::string& name, base::Origin origin) {
  Json tools = tools_named(record, name, origin), functions = tools_named(record, "functions", origin);
  if (functions.is_null()) return tools;
  if (!tools.is_null()) throw base::DataError(base::say("{}: the record has both '{}' and 'functions': leave one of them out", origin, name));
  return functions;
}

void refuse_media(const Json& record, base::Origin origin) {
  for (const char* name : {"images", "videos", "audios", "image", "video", "audio"}) {
    const Json* given = find_key(record, name);
    if (given == nullptr) continue;
    const bool named = given->is_string() && !base::trim(given->get_ref<const std::string&>()).empty();
    if (named || (given->is_structured() && !given->empty()))
      throw base::DataError(base::say("{}: '{}' is not empty, but only text is trained on: remove the record", origin, name));
  }
}

// The messages that carry no loss. Answers alone can be told to, and where all of a conversation carries loss, all of it must.
std::vector<std::string> masks_of(const Marked& marked, const LossMark& record, config::LossOn loss_on,
                                  base::Origin origin) {
  std::vector<std::string> masked_by;
  for (std::size_t i = 0; i < marked.marks.size(); ++i) {
    const LossMark& mark = marked.marks[i];
    const std::string& role = marked.messages[i]["role"].get_ref<const std::string&>();
    const bool learns = mark.says == Says::learn, is_answer = role == "assistant", all = loss_on == config::LossOn::all;
    if (learns && record.says == Says::do_not_learn)
      throw base::DataError(base::say("{}: '{}' and '{}' contradict each other: leave one of them out", origin, record.name, mark.name));
    if (learns && !is_answer && !all)
      throw base::DataError(base::say("{}: '{}' asks for loss on a message with the role '{}', but only answers carry loss: remove it, or set --data.loss-on all", origin, mark.name, role));
    if (mark.says == Says::do_not_learn && all)
      throw base::DataError(base::say("{}: '{}' excludes a message from the loss, but data.loss_on is all: set it to answers, or remove the key", origin, mark.name));
    const LossMark* decides = record.says == Says::do_not_learn              ? &record
                              : is_answer && mark.says == Says::do_not_learn ? &mark
                                                                             : nullptr;
    masked_by.push_back(decides == nullptr ? "" : decides->key);
  }
  return masked_by;
}

// Null where `text` is no JSON, or something else than an object.
Json object_in(const std::string& text) {
  try {
    const Json parsed = base::parse_ordered_json(text, "arguments");
    return parsed.is_object() ? parsed : Json(nullptr);
  } catch (const base::DataError&) {
    return nullptr;
  }
}

void leave_out_nulls(Json* message) {
  Json kept = Json::object();
  for (auto& [name, value] : message->items())
    if (!value.is_null()) kept[name] = std::move(value);
  *message = std::move(kept);
}

void name_reasoning(Json* message) {
  for (const char* name : {"reasoning_content", "thinking", "reasoning"}) {
    const Json* given = find_key(*message, name);
    if (given == nullptr) continue;
    const Json reasoning = *given;
    (*message)["reasoning_content"] = reasoning;
    if (!message->contains("thinking")) (*message)["thinking"] = reasoning;
    return;
  }
}

// As they are since there are tools.
void name_calls(Json* message) {
  const Json* call = find_key(*message, "function_call");
  if (call == nullptr || !call->is_object() || find_key(*message, "tool_calls") != nullptr) return;
  const Json called = *call;
  message->erase("function_call");
  (*message)["tool_calls"] = Json::array({{{"type", "function"}, {"function", called}}});
}

void parse_arguments(Json* message) {
  if (find_key(*message, "tool_calls") == nullptr || !(*message)["tool_calls"].is_array()) return;
  for (Json& call : (*message)["tool_calls"]) {
    if (!call.is_object()) continue;
    Json& function = find_key(call, "function") != nullptr ? call["function"] : call;
    if (find_key(function, "arguments") == nullptr || !function["arguments"].is_string()) continue;
    Json object = object_in(function["arguments"].get<std::string>());
    if (object.is_object()) function["arguments"] = std::move(object);
  }
}

}  // namespace

std::string text_of_content(const Json& content, const std::string& name, base::Origin origin) {
  if (!content.is_array()) return as_string(content, name, origin);
  std::string text;
  for (const Json& part : content) {
    const std::string& type =
        as_string(required_key(as_object(part, name, origin), "type", origin), name + ".type", origin);
    if (type != "text") throw base::DataError(base::say("{}: '{}' has a part of type '{}', but only text is read: remove the record", origin, name, type));
    text += as_string(required_key(part, "text", origin), name + ".text", origin);
  }
  return text;
}

void prepare_for_template(Json* message) {
  leave_out_nulls(message);
  name_reasoning(message);
  name_calls(message);
  parse_arguments(message);
}

Conversation conversation_of(const Json& record, const RecordShape& shape, base::Origin origin,
                             config::LossOn loss_on) {
  if (!record.is_object()) throw base::DataError(base::say("{}: a record must be an object, not {}", origin, base::kind_of(record)));
  refuse_media(record, origin);
  const LossMark whole = find_loss_mark(record, MarkOf::record, "", origin);
  Marked found = shape.format == Format::alpaca ? alpaca_messages(record, shape.columns, origin)
                                                : listed_messages(record, shape, origin);
  const std::string system = string_or_empty(record, shape.columns.system, origin);
  if (!system.empty() && found.messages.front()["role"] != "system") {
    found.messages.insert(found.messages.begin(), message_by("system", system));
    found.marks.insert(found.marks.begin(), LossMark());
  }
  std::vector<std::string> masked_by = masks_of(found, whole, loss_on, origin);
  return {std::move(found.messages), tools_of(record, shape.columns.tools, origin), std::move(masked_by)};
}

namespace {

// The roles that current templates know.
const std::vector<std::string>& known_roles() {
  static const std::vector<std::string> roles = {"system", "developer", "user", "assistant", "tool", "ipython"};
  return roles;
}

bool is_known(const std::string& word) {
  return std::find(known_roles().begin(), known_roles().end(), word) != known_roles().end();
}

std::string in_small_letters(std::string word) {
  for (char& c : word)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return word;
}

// Words that are spelled like none of the roles.
std::string nearest_role(const std::string& given) {
  static const std::vector<std::string> assistants{"model", "bot", "chatbot", "gpt", "chatgpt", "ai", "agent"},
      users{"human", "prompter", "customer"};
  const std::string word = in_small_letters(base::trim(given));
  const auto is_of = [&](const auto& words) { return std::find(words.begin(), words.end(), word) != words.end(); };
  if (is_of(assistants)) return "assistant";
  if (is_of(users)) return "user";
  return base::nearest(word, known_roles());
}

}  // namespace

std::string role_of(const std::string& word, const RecordShape& shape) {
  const Tags& tags = shape.tags;
  if (word == tags.user || word == "user") return "user";
  if (word == tags.assistant || word == "assistant" || (!tags.function.empty() && word == tags.function))
    return "assistant";
  if (word == tags.observation || word == "tool") return "tool";
  if (word == tags.system) return "system";
  if (shape.format != Format::messages) return "";
  if (word == "function" || word == "observation") return "tool";
  return is_known(word) ? word : "";
}

void refuse_role(const std::string& word, const std::string& name, const RecordShape& shape, base::Origin origin) {
  const Tags& tags = shape.tags;
  const std::string shown = base::printable(word, 60);
  if (shape.format != Format::messages)
    throw base::DataError(base::say("{}: '{}' is '{}', but must be {}, {}, {}, {} or {}", origin, name, shown, tags.user,
                                    tags.assistant, tags.system, tags.observation, tags.function));
  const std::string near = nearest_role(word);
  throw base::DataError(base::say(
      "{}: '{}' is '{}', which is not a role{}: known roles are {}; tags in dataset_info.json rename roles",
      origin, name, shown, near.empty() ? base::Text{} : base::say(" (nearest: {})", near),
      base::join(known_roles(), ", ")));
}

}  // namespace troika::data
