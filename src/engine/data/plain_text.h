// Treats control tokens in the text of messages as plain text.
//
// A template moves, trims and repeats messages, so their places in the rendered text are unknown. Each letter of such a
// token therefore carries a mark through the rendering: a character of Unicode's private area that is nowhere in the conversation.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "data/conversations.h"
#include "tokenizer/tokenizer.h"

namespace troika::data {

// Calls back for each control token in the strings of messages, their roles apart, and of tools, in order. `place`: the key,
// "messages[1].content (user)".
using OnControlToken = std::function<void(const std::string& token, const std::string& place)>;
void for_each_control_token(const Conversation& conversation, const tokenizer::Tokenizer& tokenizer,
                            const OnControlToken& use);

enum class Plain { all, all_but_answers };  // messages

// Puts the mark before each letter of the control tokens of those messages and of tools. Gives the mark, "" where there was nothing
// to do.
std::string mark_control_tokens(const tokenizer::Tokenizer& tokenizer, Plain which, Conversation* conversation);

// A rendered text without marks, and where its letters had them.
struct PlainText {
  std::string text;
  std::vector<tokenizer::Stretch> plain;
};
PlainText without_marks(const std::string& rendered, const std::string& mark);

// Its ids, behind what is `before`.
std::vector<std::int32_t> encode_marked(const std::string& rendered, const std::string& mark,
                                        const tokenizer::Tokenizer& tokenizer, tokenizer::Before before);

}  // namespace troika::data
