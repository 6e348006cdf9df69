// The tokens that merging begins with where a vocabulary is of text and not of bytes (SentencePiece's): those of characters.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/bpe_tables.h"
#include "tokenizer/unicode.h"

namespace troika::tokenizer {

// The name of a byte's token (`byte_fallback`), "<0x0A>".
std::string byte_token(unsigned char byte);
// The byte that a token with such a name is, in either case; nothing for other names.
std::optional<unsigned char> byte_of_token(std::string_view token);

// A character is its token; without one, the tokens of its bytes if there are all of them, else `unknown`, one for each or,
// `fused`, for a run of them, or nothing if that is -1. Threads: const use is safe.
class Characters {
 public:
  struct Fallback {
    std::array<std::int32_t, 256> bytes;  // -1: no token
    std::int32_t unknown = -1;
    bool fused = false;
  };

  Characters() = default;
  // Of equal tokens that are not in `left_out` the smallest id.
  Characters(const std::vector<std::string>& tokens, const std::vector<std::int32_t>& left_out,
             const Fallback& fallback);

  // What one character becomes: `first` and `last` are the ids at its ends, of its bytes if it has no token; -1: neither.
  struct Symbol {
    std::int32_t first, last;
    std::size_t bytes;  // of the character; one that is not valid UTF-8 is one byte
    bool is_token;
  };
  Symbol at(std::string_view text, std::size_t place) const {
    const std::size_t bytes = valid_character_bytes(text, place);
    if (bytes == 0) return of_bytes(text.substr(place, 1));
    std::size_t behind = place;
    const std::int32_t id = of_code_point(next_code_point(text, &behind));
    return id >= 0 ? Symbol{id, id, bytes, true} : of_bytes(text.substr(place, bytes));
  }

  // Writes the ids that merging `text` begins with and returns what is behind them; at most text.size(). Adds to `lacking` the
  // bytes that became no id or `unknown`.
  std::int32_t* write(std::string_view text, std::int32_t* ids, std::size_t* lacking) const;

  const Fallback& fallback() const { return fallback_; }

 private:
  static constexpr std::uint32_t block_size = 64;
  std::int32_t of_code_point(std::uint32_t c) const { return ids_[block_of_[c / block_size] + c % block_size]; }
  Symbol of_bytes(std::string_view character) const;

  Fallback fallback_;
  std::vector<std::uint32_t>
      block_of_;  // where in ids_ the block of a code point begins; those without tokens share the first
  std::vector<std::int32_t> ids_;
};

}  // namespace troika::tokenizer
