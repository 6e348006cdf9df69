// Where the known patterns start a piece in ASCII text, found for 64 characters at a time: each class of characters is a mask
// of bits, and a pattern's condition on a character and its neighbours is an operation on masks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tokenizer/known_patterns.h"

namespace troika::tokenizer {

enum class KnownPattern;

// A stretch of at most 1024 bytes of a text. One thread at a time.
class AsciiStarts {
 public:
  static constexpr std::size_t most_bytes = 1024;

  // Looks at text[at, ...), where a piece starts; `pattern` is not `none`.
  void look(KnownPattern pattern, std::string_view text, std::size_t at);

  // Adds the pieces from `at` on, where `pieces` ends, until it is full, as long as ASCII characters within the stretch decide
  // where they end. Returns where it stopped: what ends the piece there must be found in another way. Nothing when no piece is
  // known to start at `at`.
  std::size_t walk(std::string_view text, std::size_t at, PieceRun* pieces) const;

  std::size_t end() const { return begin_ + bytes_; }

 private:
  static constexpr std::size_t words = most_bytes / 64 + 1;  // the last is behind the stretch
  using Bits = std::array<std::uint64_t, words>;
  struct Classes;

  void classify(std::string_view text, Classes* classes) const;
  void start_gpt2(const Classes& classes);
  void start_modern(const Classes& classes);
  static std::size_t behind_blanks(const Classes& classes, std::size_t i);
  void start_behind_newlines(const Classes& classes);
  void start_behind_contractions(const Classes& classes, const Bits& quotes, bool any_case, std::string_view text);
  void start_digits_by_three(const Classes& classes);

  std::size_t begin_ = 0, bytes_ = 0;
  Bits starts_{};   // bit i % 64 of word i / 64: a piece starts at begin_ + i
  Bits foreign_{};  // what is there is beyond ASCII, behind the stretch, or depends on such a character far away
};

}  // namespace troika::tokenizer
