// Conversations, and how records of Alpaca, ShareGPT and OpenAI messages become them. docs/formats/conversations.md lists
// the keys.
#pragma once

#include <cstddef>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/language.h"
#include "config/choices.h"
#include "data/record_format.h"

namespace troika::data {

// Keys keep the order of their file: templates print some objects as JSON. A value: copies are independent.
class Conversation {
 public:
  Conversation();  // no messages, no tools
  // `masked_by`: of each message; empty: none is masked.
  Conversation(nlohmann::ordered_json messages, nlohmann::ordered_json tools, std::vector<std::string> masked_by = {});
  ~Conversation();
  Conversation(const Conversation& other);
  Conversation(Conversation&& other) noexcept;
  Conversation& operator=(Conversation other) noexcept;

  // [{"role": ..., "content": ..., ...}, ...]
  const nlohmann::ordered_json& messages() const;
  nlohmann::ordered_json& messages();
  const nlohmann::ordered_json& tools() const;  // a list of descriptions, or null
  nlohmann::ordered_json& tools();
  // The key by which a message carries no loss, whatever its role; "" where none says so.
  std::string masked_by(std::size_t message) const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;  // never null except after a move
};

// The messages of a record as {"role", "content", ...}. What a template may want besides (tool_calls,
// reasoning_content) is kept in its place; the marks of record_format.h become masked_by. DataError naming `origin` and the key that
// is missing or of another type, a role that is none, pictures and sound, and a mark that `loss_on` cannot follow.
Conversation conversation_of(const nlohmann::ordered_json& record, const RecordShape& shape, base::Origin origin,
                             config::LossOn loss_on = config::LossOn::answers);

// The text of a message's content: a string, or a list of {"type": "text", "text": ...}, joined with nothing between
// them. DataError naming `origin`, `name` and, for a part of another kind, its type.
std::string text_of_content(const nlohmann::ordered_json& content, const std::string& name, base::Origin origin);

// Gives a message the form that templates are written for, as transformers' apply_chat_template does:
// - members that are null are left out: a template that asks for a key that is there must find a value;
// - what was thought is under reasoning_content and thinking, if either, or reasoning, is there: the first in this order;
// - function_call, which OpenAI's interface had before tools, becomes tool_calls where there are none;
// - arguments of tool_calls that are an object as JSON text, as OpenAI's interface has them, become that object, because
//   templates print arguments as JSON; others stay as they are.
void prepare_for_template(nlohmann::ordered_json* message);

// Ours for one of the record's: system, developer, user, assistant, tool, ipython; "" if it is not one.
std::string role_of(const std::string& word, const RecordShape& shape);

// DataError naming `origin`, `name`, the word, the nearest role and those that there are.
[[noreturn]] void refuse_role(const std::string& word, const std::string& name, const RecordShape& shape,
                              base::Origin origin);

}  // namespace troika::data
