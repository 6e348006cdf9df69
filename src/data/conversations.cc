#include "data/conversations.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/file_texts.h"
#include "base/json.h"
#include "base/say.h"
#include "base/text.h"
#include "data/json_records.h"
#include "data/texts.h"

namespace troika::data {

struct Conversation::Parts {
  Json messages, tools;
};

Conversation::Conversation() : Conversation(nullptr, nullptr) {}
Conversation::Conversation(Json messages, Json tools)
    : parts_(std::make_unique<Parts>(Parts{std::move(messages), std::move(tools)})) {}
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

namespace {

void add_message(const char* role, std::string content, Json* messages) {
  messages->push_back({{"role", role}, {"content", std::move(content)}});
}

Json alpaca_messages(const Json& record, const Columns& columns, base::Origin origin) {
  Json messages = Json::array();
  if (const Json* history = find_key(record, columns.history)) {
    for (const Json& turn : as_array(*history, columns.history, origin)) {
      if (as_array(turn, columns.history, origin).size() != 2)
        throw base::DataError(base::say(data_texts.turn, origin, columns.history, turn.size()));
      add_message("user", as_string(turn[0], columns.history, origin), &messages);
      add_message("assistant", as_string(turn[1], columns.history, origin), &messages);
    }
  }
  std::string prompt = string_or_empty(record, columns.prompt, origin);
  const std::string query = string_or_empty(record, columns.query, origin);
  if (prompt.empty() && query.empty()) required_key(record, columns.prompt, origin);
  prompt += (prompt.empty() || query.empty() ? "" : "\n") + query;
  add_message("user", std::move(prompt), &messages);
  add_message("assistant", as_string(required_key(record, columns.response, origin), columns.response, origin),
              &messages);
  return messages;
}

// {"name": ..., "arguments": ...} or a list of those, as text -> what templates know as tool_calls.
Json tool_calls_of(const std::string& text, const std::string& name, base::Origin origin) {
  Json calls = base::parse_ordered_json(text, base::say(data_texts.within, origin, name)), result = Json::array();
  if (!calls.is_array()) calls = Json::array({calls});
  for (const Json& call : calls) {
    as_string(required_key(as_object(call, name, origin), "name", origin), name + ".name", origin);
    result.push_back({{"type", "function"}, {"function", call}});
  }
  return result;
}

// One of ours for one of the record's; "" when it is none of them.
std::string role_of(const std::string& word, const RecordShape& shape) {
  const Tags& tags = shape.tags;
  if (word == tags.user || word == "user") return "user";
  if (word == tags.assistant || word == "assistant" || (!tags.function.empty() && word == tags.function))
    return "assistant";
  if (word == tags.observation || word == "tool") return "tool";
  if (word == tags.system) return "system";
  return shape.format == Format::messages ? word : "";  // such as developer: the template decides
}

Json message_of(const Json& given, const RecordShape& shape, const std::string& place, base::Origin origin) {
  const Tags& tags = shape.tags;
  const std::string role_name = place + "." + tags.role, content_name = place + "." + tags.content;
  as_object(given, place, origin);
  const Json* role = find_key(given, tags.role);
  if (role == nullptr) throw base::DataError(base::say(base::file_texts.missing, origin, role_name));
  const std::string& word = as_string(*role, role_name, origin);
  const std::string ours = role_of(word, shape);
  if (ours.empty()) {
    throw base::DataError(base::say(data_texts.role, origin, role_name, word, tags.user, tags.assistant, tags.system,
                                    tags.observation, tags.function));
  }
  const Json* content = find_key(given, tags.content);
  const bool calls = !tags.function.empty() && word == tags.function;
  if (content == nullptr && (calls || find_key(given, "tool_calls") == nullptr))
    throw base::DataError(base::say(base::file_texts.missing, origin, content_name));
  const std::string text = content == nullptr ? "" : text_of_content(*content, content_name, origin);
  Json message{{"role", ours}, {"content", calls ? "" : text}};
  if (calls) message["tool_calls"] = tool_calls_of(text, content_name, origin);
  for (const auto& [name, value] : given.items())
    if (name != tags.role && name != tags.content && !message.contains(name)) message[name] = value;
  prepare_for_template(&message);
  return message;
}

Json listed_messages(const Json& record, const RecordShape& shape, base::Origin origin) {
  const std::string& name = shape.columns.messages;
  const Json& given = as_array(required_key(record, name, origin), name, origin);
  Json messages = Json::array();
  for (std::size_t i = 0; i < given.size(); ++i)
    messages.push_back(message_of(given[i], shape, fmt::format("{}[{}]", name, i), origin));
  if (messages.empty()) throw base::DataError(base::say(data_texts.no_messages, origin, name));
  return messages;
}

// A list, or such a list as text; a description without its wrapping is wrapped, as published templates print them.
Json tools_of(const Json& record, const std::string& name, base::Origin origin) {
  const Json* given = find_key(record, name);
  if (given == nullptr) return nullptr;
  Json list = *given;
  if (list.is_string()) {
    const std::string text = list.get<std::string>();
    if (base::trim(text).empty()) return nullptr;
    list = base::parse_ordered_json(text, base::say(data_texts.within, origin, name));
  }
  Json tools = Json::array();
  for (const Json& tool : as_array(list, name, origin)) {
    const bool bare = find_key(as_object(tool, name, origin), "type") == nullptr;
    tools.push_back(bare ? Json{{"type", "function"}, {"function", tool}} : tool);
  }
  return tools.empty() ? Json(nullptr) : tools;
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
    if (type != "text") throw base::DataError(base::say(data_texts.only_text_parts, origin, name, type));
    text += as_string(required_key(part, "text", origin), name + ".text", origin);
  }
  return text;
}

void prepare_for_template(Json* message) {
  leave_out_nulls(message);
  name_reasoning(message);
  parse_arguments(message);
}

Conversation conversation_of(const Json& record, const RecordShape& shape, base::Origin origin) {
  if (!record.is_object()) throw base::DataError(base::say(data_texts.record_object, origin, base::kind_of(record)));
  Json messages = shape.format == Format::alpaca ? alpaca_messages(record, shape.columns, origin)
                                                 : listed_messages(record, shape, origin);
  std::string system = string_or_empty(record, shape.columns.system, origin);
  if (!system.empty() && messages.front()["role"] != "system") {
    Json with_system = Json::array();
    add_message("system", std::move(system), &with_system);
    for (Json& message : messages) with_system.push_back(std::move(message));
    messages = std::move(with_system);
  }
  return {std::move(messages), tools_of(record, shape.columns.tools, origin)};
}

}  // namespace troika::data
