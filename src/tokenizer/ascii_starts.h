// Where the known patterns start a piece in ASCII text, found for 64 characters at a time: each class of characters is a mask
// of bits, and what a pattern says of a character and its neighbours is an operation on masks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace troika::tokenizer {

enum class KnownPattern;

// A stretch of at most 1024 bytes of a text. One thread at a time.
class AsciiStarts {
 public:
  static constexpr std::size_t most_bytes = 1024;

  // Looks at text[at, ...), where a piece starts; `pattern` is not `none`.
  void look(KnownPattern pattern, std::string_view text, std::size_t at);

  // Gives use(end) for the pieces from `at` on, each beginning where the one before ends, as long as `use` returns true and
  // ASCII characters within the stretch decide where they end. Returns where it stopped: what ends the piece there must be
  // found in another way. Nothing when no piece is known to start at `at`.
  template <class Use>
  std::size_t walk(std::size_t at, Use use) const;

  std::size_t end() const { return begin_ + bytes_; }

 private:
  static constexpr std::size_t words = most_bytes / 64 + 1;  // the last stands behind the stretch
  using Bits = std::array<std::uint64_t, words>;
  struct Classes;

  void classify(std::string_view text, Classes* classes) const;
  void start_gpt2(const Classes& classes);
  void start_modern(const Classes& classes);
  void start_behind_newlines(const Classes& classes);
  void start_behind_contractions(const Classes& classes, const Bits& quotes, bool any_case, std::string_view text);
  void start_digits_by_three(const Classes& classes);

  std::size_t begin_ = 0, bytes_ = 0;
  Bits starts_{};   // bit i % 64 of word i / 64: a piece starts at begin_ + i
  Bits foreign_{};  // what stands there is beyond ASCII, behind the stretch, or depends on such a character far away
};

template <class Use>
std::size_t AsciiStarts::walk(std::size_t at, Use use) const {
  std::size_t i = at - begin_, word = i / 64;
  if (i >= bytes_ || (starts_[word] >> i % 64 & 1) == 0) return at;
  std::uint64_t left = starts_[word] & ~std::uint64_t{1} << i % 64;
  std::uint64_t strange = foreign_[word] & ~std::uint64_t{0} << i % 64;
  for (;;) {
    // A piece is known when neither it nor the two characters behind it are foreign, so pieces of this word end two
    // characters before the first that is.
    const std::uint64_t next = word + 1 < words ? foreign_[word + 1] : ~std::uint64_t{0};
    const std::uint64_t near = strange | strange >> 1 | next << 63;
    const std::uint64_t known = near == 0 ? ~std::uint64_t{0} : (near & -near) - 1;
    for (left &= known; left != 0; left &= left - 1) {
      at = begin_ + word * 64 + static_cast<std::size_t>(__builtin_ctzll(left));
      if (!use(at)) return at;
    }
    if (near != 0 || ++word == words) return at;
    left = starts_[word];
    strange = foreign_[word];
  }
}

}  // namespace troika::tokenizer
