// The tokens that the bytes of a character are merged to before anything beside them is, so that merging may begin with
// characters and not with bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tokenizer/bpe_tables.h"

namespace troika::tokenizer {

// The bytes that no token spells, and what becomes of them: `unknown`, one for each or, `fused`, for each run of them, or
// nothing when it is -1.
struct LackingBytes {
  std::array<bool, 256> bytes{};
  bool any = false, fused = false;
  std::int32_t unknown = -1;
};

// A character's own merges come first wherever every merge of its first or last token with a neighbour has a higher rank
// than all of its own merges: they are then done before such a merge could take place, in the order they have in the
// character alone, and the order of all other merges stays. That is looked at once for each character and for neighbours in
// ASCII and beyond; where it does not hold (" п" of GPT-2 begins with the merge of ' ' and 0xD0) merging begins with bytes.
// Threads: const use is safe. At most half a MiB.
class CharSymbols {
 public:
  using Pairs = std::vector<std::pair<std::int32_t, std::int32_t>>;
  using ByteIds = std::array<std::int32_t, 256>;

  CharSymbols() = default;
  // `merges` holds the pairs of `table` in order of rank. `tokens`: the bytes of each id. The ids of lacking bytes are not read.
  CharSymbols(const ByteIds& byte_ids, const LackingBytes& lacking, const std::vector<std::string>& tokens,
              const Pairs& merges, const MergeTable& table);

  // Writes the tokens that merging `piece` begins with and returns what is behind them; at most piece.size(). `piece` is valid
  // UTF-8 or one byte and has no lacking bytes.
  std::int32_t* write(std::string_view piece, std::int32_t* ids) const;

  // The same for a piece with lacking bytes: merging begins with its bytes.
  std::int32_t* write_lacking(std::string_view piece, std::int32_t* ids) const;

  std::size_t lacking(std::string_view piece) const;  // how many of its bytes no token spells

  // By id below `vocab_size`: whether write() may give it.
  std::vector<bool> symbols(std::size_t vocab_size) const;

 private:
  // A neighbour and its position: characters with that bit begin with bytes beside it.
  static constexpr std::uint32_t ascii_before = 1, ascii_behind = 2, other_before = 4, other_behind = 8;
  static constexpr std::uint32_t always_bytes = 16;  // none of its bytes are merged
  static constexpr std::uint32_t flag_bits = 5, list = 1u << 31;
  static constexpr std::uint32_t block_size = 64;
  class Maker;

  // The entry of a code point: flags, above them an id; with `list` an index into lists_ of a count and as many ids.
  std::uint32_t symbol_of(std::uint32_t c) const {
    return c / block_size < block_of_.size() ? symbols_[block_of_[c / block_size] + c % block_size] : always_bytes;
  }
  std::uint32_t make_symbol(const Maker& maker, std::uint32_t c);

  ByteIds byte_ids_{};
  LackingBytes lacking_;
  std::vector<std::uint32_t> block_of_;  // where in symbols_ the block of a code point begins
  std::vector<std::uint32_t> symbols_;   // in blocks, equal ones once
  std::vector<std::int32_t> lists_;
};

}  // namespace troika::tokenizer
