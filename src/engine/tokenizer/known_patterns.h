// The patterns of GPT-2, Qwen and Llama 3, matched by hand: many times as fast as a regular expression engine.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "tokenizer/piece_run.h"
#include "tokenizer/unicode.h"

namespace troika::tokenizer {

extern const char* const gpt2_pattern;    // GPT-2, and ByteLevel with use_regex
extern const char* const qwen2_pattern;   // Qwen 2 and 3: digits one by one, punctuation takes newlines along
extern const char* const llama3_pattern;  // Llama 3: the same with up to three digits

enum class KnownPattern { none, gpt2, qwen2, llama3 };
KnownPattern known_pattern(const std::string& pattern);

// 's 't 'm 'd 're 've 'll at the apostrophe text[at], with `any_case` in both cases and with U+017F for s: their bytes, else 0.
std::size_t contraction_bytes(std::string_view text, std::size_t at, bool any_case);

// Threads: const use is safe.
class PieceMatcher {
 public:
  PieceMatcher(KnownPattern pattern, std::shared_ptr<const UnicodeTable> table);

  // Adds the pieces of `text` from `at` on, where `pieces` ends and is not full, until it is; they cover all of it. Returns
  // where the last one ends. `text` must be valid UTF-8.
  std::size_t cut(std::string_view text, std::size_t at, PieceRun* pieces) const;

 private:
  KnownPattern pattern_;
  std::shared_ptr<const UnicodeTable> table_;
};

}  // namespace troika::tokenizer
