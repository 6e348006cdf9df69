// Opens a chat template: a tokenizer's, a file, or a built-in one.
#pragma once

#include <string>
#include <string_view>

#include "data/chat_template.h"

namespace troika::data {

struct BuiltInTemplate {
  std::string_view name, source;
  std::string_view end_mark;  // empty: that of the tokenizer
};

extern const BuiltInTemplate chatml_template;  // <|im_start|>ROLE\nCONTENT<|im_end|>\n
extern const BuiltInTemplate alpaca_template;  // ### Instruction:\nCONTENT\n\n### Response:\nCONTENT

const BuiltInTemplate* find_built_in_template(std::string_view name);  // null: there is none of that name
bool names_template_file(std::string_view chat_template);  // data.chat_template is neither auto nor built in

// `choice`: data.chat_template; `tokenizer`: data.tokenizer. auto reads chat_template.jinja, or chat_template of
// tokenizer_config.json, beside tokenizer.json, with its bos_token and eos_token. ConfigError when there is none: it
// names chatml and alpaca, which are built in, and data.chat_template.
// `end_text`: what eos_token is where tokenizer_config.json names none.
ChatTemplate open_chat_template(const std::string& choice, const std::string& tokenizer, bool thinking,
                                const std::string& end_text = "");

}  // namespace troika::data
