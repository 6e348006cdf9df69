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

// What a record of no stated format is: by its members. A `text_key` other than "text" decides first, since it was
// stated. DataError naming the members when they say nothing.
RecordShape shape_of(const nlohmann::ordered_json& record, const std::string& text_key, const std::string& origin);

}  // namespace troika::datasets
