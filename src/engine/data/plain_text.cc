#include "data/plain_text.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "data/json_records.h"

namespace troika::data {
namespace {

using OnString = std::function<void(std::string* text, const std::string& place)>;

void for_each_string(Json* value, const std::string& place, const OnString& use) {
  if (value->is_string()) use(value->get_ptr<std::string*>(), place);
  if (value->is_array())
    for (std::size_t i = 0; i < value->size(); ++i) for_each_string(&(*value)[i], fmt::format("{}[{}]", place, i), use);
  if (!value->is_object()) return;
  for (auto& [name, member] : value->items()) for_each_string(&member, place + "." + name, use);
}

void for_each_written(Conversation* conversation, Plain which, const OnString& use) {
  Json& messages = conversation->messages();
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (which == Plain::all_but_answers && messages[i]["role"] == "assistant") continue;
    const std::string role = messages[i]["role"].get<std::string>();
    for (auto& [name, member] : messages[i].items())
      if (name != "role") for_each_string(&member, fmt::format("messages[{}].{} ({})", i, name, role), use);
  }
  for_each_string(&conversation->tools(), "tools", use);
}

// A character of the private area that is in none of the strings.
std::string free_mark(const Conversation& conversation) {
  const std::string all = conversation.messages().dump(-1, ' ', false, Json::error_handler_t::replace) +
                          conversation.tools().dump(-1, ' ', false, Json::error_handler_t::replace);
  for (int low = 0x81; low < 0xC0; ++low) {  // U+E001 and on
    const std::string mark{'\xEE', '\x80', static_cast<char>(low)};
    if (all.find(mark) == std::string::npos) return mark;
  }
  return "\xEF\xA3\xBF";  // U+F8FF: a conversation with all of the others is made up
}

std::size_t letter_bytes(std::string_view text, std::size_t at) {
  return std::max<std::size_t>(base::utf8_character_bytes(text.substr(at)), 1);
}

std::string marked(const std::string& text, const std::vector<tokenizer::Stretch>& tokens, const std::string& mark) {
  std::string result;
  std::size_t at = 0;
  for (const tokenizer::Stretch& token : tokens) {
    result += text.substr(at, token.begin - at);
    for (at = token.begin; at < token.end;) {
      const std::size_t bytes = letter_bytes(text, at);
      result += mark + text.substr(at, bytes);
      at += bytes;
    }
  }
  return result + text.substr(at);
}

}  // namespace

void for_each_control_token(const Conversation& conversation, const tokenizer::Tokenizer& tokenizer,
                            const OnControlToken& use) {
  Conversation copy = conversation;
  for_each_written(&copy, Plain::all, [&](const std::string* text, const std::string& place) {
    for (const tokenizer::Stretch& token : tokenizer.control_tokens(*text))
      use(text->substr(token.begin, token.end - token.begin), place);
  });
}

std::string mark_control_tokens(const tokenizer::Tokenizer& tokenizer, Plain which, Conversation* conversation) {
  std::string mark;
  for_each_written(conversation, which, [&](std::string* text, const std::string&) {
    const std::vector<tokenizer::Stretch> tokens = tokenizer.control_tokens(*text);
    if (tokens.empty()) return;
    if (mark.empty()) mark = free_mark(*conversation);
    *text = marked(*text, tokens, mark);
  });
  return mark;
}

PlainText without_marks(const std::string& rendered, const std::string& mark) {
  PlainText result;
  std::size_t at = 0;
  for (std::size_t next = 0; !mark.empty() && (next = rendered.find(mark, at)) != std::string::npos;) {
    result.text += rendered.substr(at, next - at);
    at = next + mark.size();
    if (at >= rendered.size()) break;
    const std::size_t begin = result.text.size(), bytes = letter_bytes(rendered, at);
    result.text += rendered.substr(at, bytes);
    at += bytes;
    if (!result.plain.empty() && result.plain.back().end == begin)
      result.plain.back().end += bytes;
    else
      result.plain.push_back({begin, begin + bytes});
  }
  result.text += rendered.substr(std::min(at, rendered.size()));
  return result;
}

std::vector<std::int32_t> encode_marked(const std::string& rendered, const std::string& mark,
                                        const tokenizer::Tokenizer& tokenizer, tokenizer::Before before) {
  const PlainText text = without_marks(rendered, mark);
  return tokenizer.encode_with_plain(text.text, text.plain, before);
}

}  // namespace troika::data
