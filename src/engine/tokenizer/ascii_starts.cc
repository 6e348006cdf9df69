#include "tokenizer/ascii_starts.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <algorithm>
#include <cstring>

namespace troika::tokenizer {

// Bit i % 64 of word i / 64 for the character begin_ + i; none behind the stretch.
struct AsciiStarts::Classes {
  Bits letter{}, digit{}, space{}, newline{}, blank{}, quote{};  // space: \s, of which newline is \r and \n, blank ' '
  Bits other{};                                                  // ASCII and none of letter, digit and space
};

namespace {

using Sixteen __attribute__((vector_size(16))) = unsigned char;
using Mask64 = std::uint64_t;

Sixteen load_sixteen(const char* bytes) {
  Sixteen all;
  std::memcpy(&all, bytes, sizeof all);
  return all;
}

// A bit for each byte, all of whose bits are equal.
template <class Mask>
Mask64 bits_of(Mask mask) {
#ifdef __SSE2__
  __m128i all;
  std::memcpy(&all, &mask, sizeof all);
  return static_cast<Mask64>(_mm_movemask_epi8(all));
#else
  Mask64 halves[2];
  std::memcpy(halves, &mask, sizeof halves);
  const auto gathered = [](Mask64 half) { return (half & 0x8040201008040201u) * 0x0101010101010101u >> 56; };
  return gathered(halves[0]) | gathered(halves[1]) << 8;
#endif
}

// The bits one character further on, those of the character before and behind; `word` and its neighbours.
template <class Bits>
Mask64 moved_up(const Bits& bits, std::size_t word) {
  return bits[word] << 1 | (word > 0 ? bits[word - 1] >> 63 : 0);
}
template <class Bits>
Mask64 moved_down(const Bits& bits, std::size_t word) {
  return bits[word] >> 1 | (word + 1 < bits.size() ? bits[word + 1] << 63 : 0);
}

template <class Bits>
bool is_set(const Bits& bits, std::size_t i) {
  return (bits[i / 64] >> i % 64 & 1) != 0;
}
template <class Bits>
void set(Bits* bits, std::size_t i) {
  (*bits)[i / 64] |= Mask64{1} << i % 64;
}

}  // namespace

void AsciiStarts::classify(std::string_view text, Classes* classes) const {
  for (std::size_t at = 0; at < bytes_; at += 64) {
    const std::size_t left = std::min<std::size_t>(64, text.size() - begin_ - at);
    char padded[64] = {};
    const char* bytes = text.data() + begin_ + at;
    if (left < 64) bytes = static_cast<const char*>(std::memcpy(padded, bytes, left));
    Mask64 letter = 0, digit = 0, space = 0, newline = 0, blank = 0, quote = 0, high = 0;
    for (std::size_t i = 0; i < 64; i += 16) {
      const Sixteen c = load_sixteen(bytes + i);
      letter |= bits_of((c | 0x20) - 'a' < 26) << i;
      digit |= bits_of(c - '0' < 10) << i;
      space |= bits_of((c - 9 < 5) | (c == ' ')) << i;
      newline |= bits_of((c == '\n') | (c == '\r')) << i;
      blank |= bits_of(c == ' ') << i;
      quote |= bits_of(c == '\'') << i;
      high |= bits_of(c >= 0x80) << i;
    }
    const std::size_t word = at / 64;
    classes->letter[word] = letter;
    classes->digit[word] = digit;
    classes->space[word] = space;
    classes->newline[word] = newline;
    classes->blank[word] = blank;
    classes->quote[word] = quote;
    const Mask64 within = left < 64 ? ~(~Mask64{0} << left) : ~Mask64{0};
    classes->other[word] = ~(letter | digit | space | high) & within;
  }
}

void AsciiStarts::look(KnownPattern pattern, std::string_view text, std::size_t at) {
  begin_ = at;
  bytes_ = std::min(most_bytes, text.size() - at);
  Classes classes;
  classify(text, &classes);
  for (std::size_t word = 0; word < words; ++word)
    foreign_[word] = ~(classes.letter[word] | classes.digit[word] | classes.space[word] | classes.other[word]);
  if (bytes_ % 64 != 0) foreign_[bytes_ / 64] |= ~Mask64{0} << bytes_ % 64;
  if (pattern == KnownPattern::gpt2) {
    start_gpt2(classes);
  } else {
    start_modern(classes);
    if (pattern == KnownPattern::llama3) start_digits_by_three(classes);
  }
  starts_[0] |= 1;
  const bool modern = pattern != KnownPattern::gpt2;
  start_behind_contractions(classes, classes.quote, modern, text);
}

std::size_t AsciiStarts::walk(std::string_view text, std::size_t at, PieceRun* pieces) const {
  std::size_t i = at - begin_, word = i / 64;
  if (i >= bytes_ || !is_set(starts_, i)) return at;
  Mask64 left = starts_[word] & ~Mask64{1} << i % 64;
  Mask64 strange = foreign_[word] & ~Mask64{0} << i % 64;
  for (;;) {
    // A piece is known when neither it nor the two characters behind it are foreign, so pieces of this word end two
    // characters before the first that is.
    const Mask64 next = word + 1 < words ? foreign_[word + 1] : ~Mask64{0};
    const Mask64 near = strange | strange >> 1 | next << 63;
    left &= near == 0 ? ~Mask64{0} : (near & -near) - 1;
    pieces->add_each(text.data() + begin_ + word * 64, left);
    if (near != 0 || pieces->full() || ++word == words) return static_cast<std::size_t>(pieces->end() - text.data());
    left = starts_[word];
    strange = foreign_[word];
  }
}

// A run starts a piece unless ' ' before it does; of white space the last character before something else starts one too.
void AsciiStarts::start_gpt2(const Classes& classes) {
  for (std::size_t word = 0; word < words; ++word) {
    const auto begins = [&](const Bits& kind) { return kind[word] & ~moved_up(kind, word); };
    const Mask64 joined = moved_up(classes.blank, word);
    const Mask64 runs = begins(classes.letter) | begins(classes.digit) | begins(classes.other);
    starts_[word] = (runs & ~joined) | begins(classes.space) | (classes.space[word] & ~moved_down(classes.space, word));
  }
}

void AsciiStarts::start_modern(const Classes& classes) {
  Bits prefix;      // characters that a word takes in front when they are before one
  Bits own_spaces;  // \s that is not behind punctuation as newlines that it takes along
  bool carried = false;
  for (std::size_t word = 0; word < words; ++word) {
    const Mask64 newline = classes.newline[word], seeds = newline & moved_up(classes.other, word);
    Mask64 sum = 0;  // a run of newlines that begins with a seed, or has begun in the word before, ripples to its end
    const bool first = __builtin_add_overflow(newline, seeds, &sum);
    const bool second = __builtin_add_overflow(sum, Mask64{carried}, &sum);
    carried = first || second;
    own_spaces[word] = classes.space[word] & ~(newline & ~sum);
    const Mask64 other = classes.other[word] & ~moved_up(classes.other, word) & ~moved_up(classes.blank, word);
    const Mask64 spaces = classes.space[word] & ~newline;
    prefix[word] = other | spaces;
    starts_[word] =
        other | (own_spaces[word] & ~moved_up(own_spaces, word)) | (spaces & ~moved_down(classes.space, word)) |
        (classes.letter[word] & ~moved_up(classes.letter, word) & ~moved_up(prefix, word)) | classes.digit[word];
  }
  start_behind_newlines(classes);
}

// Behind the white space without newlines that begins at `i`; behind the stretch there is none.
std::size_t AsciiStarts::behind_blanks(const Classes& classes, std::size_t i) {
  std::size_t word = i / 64;
  const auto others = [&] { return ~classes.space[word] | classes.newline[word]; };
  Mask64 left = others() & ~Mask64{0} << i % 64;
  while (left == 0) ++word, left = others();
  return word * 64 + static_cast<std::size_t>(__builtin_ctzll(left));
}

// \s*[\r\n]+ ends behind the last newline of a run: other white space behind a newline starts a piece when no newline
// follows in the run.
void AsciiStarts::start_behind_newlines(const Classes& classes) {
  for (std::size_t word = 0; word < words; ++word) {
    Mask64 left = moved_up(classes.newline, word) & classes.space[word] & ~classes.newline[word];
    for (; left != 0; left &= left - 1) {
      const std::size_t i = word * 64 + static_cast<std::size_t>(__builtin_ctzll(left));
      const std::size_t end = behind_blanks(classes, i);
      if (is_set(foreign_, end)) set(&foreign_, i);
      if (!is_set(classes.newline, end)) set(&starts_, i);
    }
  }
}

void AsciiStarts::start_behind_contractions(const Classes& classes, const Bits& quotes, bool any_case,
                                            std::string_view text) {
  for (std::size_t word = 0; word < words; ++word) {
    Mask64 left = quotes[word] & starts_[word] & moved_down(classes.letter, word);
    for (; left != 0; left &= left - 1) {
      const std::size_t i = word * 64 + static_cast<std::size_t>(__builtin_ctzll(left));
      const std::size_t length = contraction_bytes(text, begin_ + i, any_case);
      if (length == 0) continue;
      starts_[(i + 1) / 64] &= ~(Mask64{1} << (i + 1) % 64);
      if (is_set(classes.letter, i + length)) set(&starts_, i + length);
    }
  }
}

// Every third digit of a run, from its first on.
void AsciiStarts::start_digits_by_three(const Classes& classes) {
  Mask64 before = 0;  // the word before
  for (std::size_t word = 0; word < words; ++word) {
    const Mask64 digit = classes.digit[word], second = digit & moved_up(classes.digit, word);
    Mask64 third = digit & (moved_up(classes.digit, word) << 1);
    if (word > 0) third |= digit & (classes.digit[word - 1] >> 62 & 1);
    Mask64 all = digit & ~moved_up(classes.digit, word);
    const Mask64 fourth = second & third;
    Mask64 some = fourth & (all << 3 | before >> 61);
    for (; some != 0; some = fourth & some << 3) all |= some;
    starts_[word] = (starts_[word] & ~digit) | all;
    before = all;
  }
}

}  // namespace troika::tokenizer
