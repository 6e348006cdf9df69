// A sample as people read it.
#pragma once

#include <cstdint>
#include <string>

#include "base/language.h"
#include "data/samples.h"
#include "tokenizer/tokenizer.h"

namespace troika::commands {

enum class LossMarks { color, brackets };  // green, or between U+27E6 and U+27E7
enum class TokenIds { hidden, shown };

struct SampleStyle {
  LossMarks marks = LossMarks::brackets;
  TokenIds ids = TokenIds::hidden;
};

// A line with numbers, then the text; what carries loss is marked, documents that a sample holds have a line between
// them, and what fills the sample up is not shown. Control characters are escaped.
std::string sample_text(const data::Samples& samples, std::int64_t number, const tokenizer::Tokenizer& tokenizer,
                        const SampleStyle& style, base::Language language);

}  // namespace troika::commands
