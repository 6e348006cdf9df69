// The alphabet in which byte-level BPE vocabularies are written: each byte is one printable character (GPT-2, A.
// Radford et al. 2019). Printable Latin-1 represents itself; the other 68 bytes are U+0100, U+0101, ... in byte order.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace troika::tokenizer {

// Code point of each byte.
std::array<std::uint32_t, 256> byte_code_points();

// Spelling -> bytes for many spellings. Threads: const use is safe.
class ByteAlphabet {
 public:
  ByteAlphabet();
  // Nothing when a character outside the alphabet occurs.
  std::optional<std::string> bytes_of(std::string_view spelling) const;

 private:
  std::array<std::int16_t, 0x100 + 68> byte_of_;  // by code point; -1: none
};

// Bytes -> their spelling, as UTF-8.
std::string spell_bytes(std::string_view bytes);

// All 256 bytes in the order of their code points: the ids a byte-level vocabulary begins with.
std::array<unsigned char, 256> bytes_in_alphabet_order();

}  // namespace troika::tokenizer
