// Records of Alpaca, ShareGPT and OpenAI's kind -> conversations. docs/formats/conversations.md has the members.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "datasets/conversation.h"
#include "datasets/record_shape.h"

namespace troika::datasets {

// The messages of a record as {"role", "content", ...}. What a template may want besides (tool_calls,
// reasoning_content) is kept in its place. DataError naming `origin` and the member that is missing or of another kind.
Conversation conversation_of(const nlohmann::ordered_json& record, const RecordShape& shape, const std::string& origin);

// The text of a message's content: a string, or a list of {"type": "text", "text": ...}, joined with nothing between
// them. DataError naming `origin`, `name` and, for a part of another kind, its type.
std::string text_of_content(const nlohmann::ordered_json& content, const std::string& name, const std::string& origin);

// Arguments of tool_calls that are an object as JSON text, as OpenAI's interface has them, become that object:
// templates print arguments as JSON. Others stay as they are.
void parse_arguments(nlohmann::ordered_json* message);

// What a record of no stated format is: by its members. A `text_key` other than "text" decides first, since it was
// stated. DataError naming the members when they say nothing.
RecordShape shape_of(const nlohmann::ordered_json& record, const std::string& text_key, const std::string& origin);

}  // namespace troika::datasets
