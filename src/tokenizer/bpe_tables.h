// The lookups of a BPE tokenizer: bytes to token id, pair of ids to merge, and a cache of pieces that were merged before.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troika::tokenizer {

// Bytes -> token id: open addressing over the tokens of a vocabulary. Threads: const use is safe.
class TokenTable {
 public:
  TokenTable() = default;
  // The ids of `tokens` that are neither empty nor in `left_out`; of equal ones the smallest id. `tokens` must live as long as
  // the table, unchanged.
  TokenTable(const std::vector<std::string>& tokens, const std::vector<std::int32_t>& left_out);

  std::int32_t find(std::string_view bytes) const;  // -1: no token

 private:
  struct Slot {
    std::uint32_t hash = 0;
    std::int32_t id = -1;  // -1: free
  };
  std::size_t slot_of(std::string_view bytes, std::uint64_t hash) const;

  const std::vector<std::string>* tokens_ = nullptr;
  std::vector<Slot> slots_;  // a power of two
};

struct Merge {
  std::int32_t rank = -1;  // -1: no such merge
  std::int32_t result = -1;
};

// Pair of token ids -> rank and result of their merge: open addressing. Threads: const use is safe.
class MergeTable {
 public:
  explicit MergeTable(std::size_t merges = 0) {
    std::size_t size = 16;
    while (3 * size < 4 * merges) size *= 2;
    slots_.resize(size);
  }

  // At most as many pairs as were announced; a pair set before is overwritten.
  void set(std::int32_t left, std::int32_t right, Merge merge) {
    slots_[slot_of(key_of(left, right))] = {key_of(left, right), merge};
  }

  // rank -1 when the pair has no merge.
  Merge find(std::int32_t left, std::int32_t right) const { return slots_[slot_of(key_of(left, right))].merge; }

 private:
  struct Slot {
    std::uint64_t key = 0;
    Merge merge;
  };
  static std::uint64_t key_of(std::int32_t left, std::int32_t right) {
    return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
  }
  std::size_t slot_of(std::uint64_t key) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t index = (key * 0x9E3779B97F4A7C15u >> 32) & mask;
    while (slots_[index].merge.rank >= 0 && slots_[index].key != key) index = (index + 1) & mask;
    return index;
  }

  std::vector<Slot> slots_;  // a power of two
};

// Remembers the ids of pieces that were merged before. Natural text repeats few pieces often, so most pieces cost a
// lookup. Bounded: at most 12 MiB. One thread at a time.
class WordCache {
 public:
  // Appends the ids of `piece` when it is known.
  bool find(std::string_view piece, std::vector<std::int32_t>* ids) const;
  // Pieces longer than 128 bytes are not kept. `ids` may be empty only for an empty piece.
  void insert(std::string_view piece, const std::int32_t* ids, std::size_t count);

 private:
  // Pieces of at most 16 bytes and 3 ids stand in a slot themselves: the bytes in two words, which overlap below 16.
  struct ShortSlot {
    std::uint64_t head = 0, tail = 0;
    std::array<std::int32_t, 3> ids{};
    std::uint16_t size = 0, count = 0;  // size 0: free
  };
  struct Slot {
    std::uint64_t hash = 0;
    std::uint32_t key_begin = 0, ids_begin = 0;
    std::uint16_t key_size = 0, ids_count = 0;  // key_size 0: free
  };
  static ShortSlot short_key(std::string_view piece);
  static std::size_t pair_of(const ShortSlot& key);
  void insert_short(const ShortSlot& slot);
  std::size_t slot_of(std::string_view piece, std::uint64_t hash) const;
  void clear();

  std::vector<ShortSlot> short_slots_;  // pairs: the newer of two stands first
  std::vector<Slot>
      slots_;  // open addressing, a power of two; when half full, or keys_ or ids_ full, all are forgotten
  std::size_t used_ = 0;
  std::string keys_;
  std::vector<std::int32_t> ids_;
};

}  // namespace troika::tokenizer
