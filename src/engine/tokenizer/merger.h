// Byte-pair merging of one piece of text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tokenizer/bpe_tables.h"
#include "tokenizer/char_symbols.h"
#include "tokenizer/characters.h"

namespace troika::tokenizer {

// Where merging can join two neighbours.
// Between two symbols that merging begins with a merge is possible only when some merge's left token ends with the bytes of the
// first and its right token begins with those of the second. Elsewhere text falls into stretches that are merged each by
// itself, with the same result: merges of one stretch never change what another one holds. Threads: const use is safe.
class Joints {
 public:
  Joints() = default;
  // `symbols`: the ids that merging begins with, each of one byte or of bytes of one character; `tokens`: the bytes of each id;
  // `ids` finds them.
  Joints(const std::vector<bool>& symbols, const std::vector<std::string>& tokens,
         const std::vector<std::pair<std::int32_t, std::int32_t>>& merges, const TokenTable& ids);

  // The same for symbols that are characters.
  Joints(const Characters& characters, const std::vector<std::string>& tokens,
         const std::vector<std::pair<std::int32_t, std::int32_t>>& merges);

  // false: no merge ever reaches across the border between the two symbols.
  bool may_join(std::int32_t left, std::int32_t right) const { return pairs_.may_hold(hash_of(pair_of(left, right))); }

 private:
  static std::uint64_t pair_of(std::int32_t left, std::int32_t right) {
    return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
  }

  HashFilter pairs_;
};

// Merges the pair of lowest rank, the leftmost of equals, until no pair has a rank. Threads: const use is safe; each thread
// needs its own Scratch.
class Merger {
 public:
  Merger() = default;
  // `tokens`: the bytes of each id; `merges` in order of rank, of equal pairs the last counts; `ids` finds the results. Throws
  // DataError when a merge's result is no token.
  Merger(const CharSymbols::ByteIds& byte_ids, const LackingBytes& lacking, const std::vector<std::string>& tokens,
         const CharSymbols::Pairs& merges, const TokenTable& ids);

  // The same for text: merging begins with `characters`. `order`, unless empty, holds a number that does not fall for each merge:
  // the rank of merges with equal numbers is equal.
  Merger(Characters characters, const std::vector<std::string>& tokens, const CharSymbols::Pairs& merges,
         const std::vector<std::int32_t>& order, const TokenTable& ids);

  // Working memory of one caller: 32 bytes for each byte of the longest piece.
  class Scratch {
    friend class Merger;
    struct Link {
      std::int32_t previous, next, rank;  // of the merge of this symbol with the next, -1: none
    };
    std::vector<std::int32_t> symbols;
    std::vector<Link> links;
    std::vector<std::int32_t> likely;
    std::vector<std::uint64_t> queue;  // a heap of order << 32 | position
  };

  struct Merged {
    std::int32_t* end;  // behind the ids
    bool at_once;       // no two symbols of the piece could join, so that merging it again costs little
    std::size_t lacking = 0;  // bytes of the piece that no token spells
  };
  // Writes the ids of `piece`; at most piece.size(). `piece` is valid UTF-8 or one byte; with characters any bytes.
  Merged merge(std::string_view piece, Scratch* scratch, std::int32_t* ids) const;

  // With characters: the end of the stretch of `text` that begins at `begin`; each stretch may be merged by itself.
  std::size_t stretch_end(std::string_view text, std::size_t begin) const;

 private:
  struct Window;
  std::int32_t rank_or_none(std::int32_t left, std::int32_t right) const;
  void merge_window(const std::int32_t* symbols, std::size_t count, Window* window) const;
  void merge_lowest(std::int32_t lowest, Window* window) const;
  std::int32_t* merge_stretch(const std::int32_t* symbols, std::size_t count, Scratch* scratch,
                              std::int32_t* ids) const;
  std::int32_t* merge_by_windows(const std::int32_t* symbols, std::size_t count, std::size_t most,
                                 std::int32_t* ids) const;
  std::int32_t* merge_by_heap(std::int32_t* ids, std::size_t count, Scratch* scratch) const;

  std::uint64_t entry(std::int32_t rank, std::int32_t place) const {
    const std::int32_t order = order_.empty() ? rank : order_[static_cast<std::size_t>(rank)];
    return static_cast<std::uint64_t>(order) << 32 | static_cast<std::uint32_t>(place);
  }

  MergeTable merges_;
  CharSymbols bytes_;
  std::optional<Characters> characters_;  // in place of bytes_
  std::vector<std::int32_t> order_;       // by rank, if merges with different results have an equal one
  Joints joints_;
};

}  // namespace troika::tokenizer
