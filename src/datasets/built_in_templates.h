// Chat templates that need no file.
#pragma once

#include <string_view>

namespace troika::datasets {

struct BuiltInTemplate {
  std::string_view name, source;
  std::string_view end_mark;  // empty: that of the tokenizer
};

extern const BuiltInTemplate chatml_template;  // <|im_start|>ROLE\nCONTENT<|im_end|>\n
extern const BuiltInTemplate alpaca_template;  // ### Instruction:\nCONTENT\n\n### Response:\nCONTENT

}  // namespace troika::datasets
