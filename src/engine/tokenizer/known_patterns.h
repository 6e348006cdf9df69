// The patterns of GPT-2, Qwen and Llama 3, matched by hand: many times as fast as a regular expression engine.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "tokenizer/unicode.h"

namespace troika::tokenizer {

// Some pieces of a text, next to each other. Views into the text. One thread at a time.
class PieceRun {
 public:
  static constexpr std::size_t capacity = 1024;

  // None yet; the first will begin at `begin`. Full with `most` of them, which is at most the capacity.
  explicit PieceRun(const char* begin, std::size_t most = capacity) : most_(most) { places_[0] = begin; }

  // Forgets the pieces; the next one begins where the last one ended.
  void clear() {
    places_[0] = end();
    count_ = 0;
  }
  // The next piece ends at `end`, which is behind its begin; not when full.
  void add(const char* end) { places_[++count_] = end; }
  // A piece ends at text + i for each bit i of `ends`; not when full, and may add more than make it full.
  void add_each(const char* text, std::uint64_t ends) {
    std::size_t count = count_;
    for (; ends != 0; ends &= ends - 1) places_[++count] = text + __builtin_ctzll(ends);
    count_ = count;
  }

  bool full() const { return count_ >= most_; }
  std::size_t size() const { return count_; }
  std::string_view operator[](std::size_t i) const {
    return {places_[i], static_cast<std::size_t>(places_[i + 1] - places_[i])};
  }
  const char* begin() const { return places_[0]; }  // of the first piece
  const char* end() const { return places_[count_]; }

 private:
  std::size_t most_, count_ = 0;
  std::array<const char*, capacity + 64> places_;  // piece i is between i and i + 1
};

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
