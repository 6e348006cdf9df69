// The lookups of a BPE tokenizer: bytes to token id, pair of ids to merge, and caches of pieces that were merged before.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace troika::tokenizer {

// Memory for tables that are read at random: in pages of 2 MiB where the system has them, since looking up the place of a
// small page costs more than the read.

// A table of 2 MiB or more is at a multiple of that, with the hint to the system. Throws std::bad_alloc. Free with
// free_table.
void* allocate_table(std::size_t bytes, std::size_t alignment);
void free_table(void* memory, std::size_t bytes, std::size_t alignment);

// For std::vector; memory from the two above.
template <class T>
struct TableAllocator {
  using value_type = T;
  TableAllocator() = default;
  template <class Other>
  TableAllocator(const TableAllocator<Other>&) {}  // NOLINT: allocators convert

  T* allocate(std::size_t count) { return static_cast<T*>(allocate_table(count * sizeof(T), alignof(T))); }
  void deallocate(T* memory, std::size_t count) { free_table(memory, count * sizeof(T), alignof(T)); }
  bool operator==(const TableAllocator&) const { return true; }
  bool operator!=(const TableAllocator&) const { return false; }
};

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
  std::vector<Slot, TableAllocator<Slot>> slots_;  // a power of two
};

// The hash of two ids in one number.
inline std::uint64_t hash_of(std::uint64_t pair) {
  const std::uint64_t mixed = pair * 0x9E3779B97F4A7C15u;
  return (mixed ^ mixed >> 32) * 0xD6E8FEB86659FD93u;
}

// A set of hashes of 64 bits, told apart by their upper bits: holds all that were added and few others. Threads: const use is
// safe.
class HashFilter {
 public:
  explicit HashFilter(std::size_t bits = 64);  // rounded up to a power of two, at least 64

  void add(std::uint64_t hash) { words_[hash >> shift_ >> 6] |= std::uint64_t{1} << (hash >> shift_ & 63); }
  bool may_hold(std::uint64_t hash) const { return (words_[hash >> shift_ >> 6] >> (hash >> shift_ & 63) & 1) != 0; }

 private:
  int shift_ = 64 - 6;
  std::vector<std::uint64_t> words_;
};

// Pair of token ids -> rank of their merge, and its result: open addressing with a pair and its rank in 8 bytes, and before it a
// filter of bits that answers for most pairs without a merge. Threads: const use is safe.
class MergeTable {
 public:
  // For ids below `vocab_size`. Throws DataError when two ids and a rank take more than 64 bits.
  explicit MergeTable(std::size_t merges = 0, std::size_t vocab_size = 0);

  // `rank` in [0, merges), each once; a pair set before gets the new rank.
  void set(std::int32_t left, std::int32_t right, std::int32_t rank, std::int32_t result);

  // -1 when the pair has no merge.
  std::int32_t rank(std::int32_t left, std::int32_t right) const {
    const std::uint64_t pair = pair_of(left, right), hash = hash_of(pair);
    return filter_.may_hold(hash) ? find(pair, hash) : -1;
  }

  // Appends to `places` the i < count - 1 at which ids[i] and ids[i + 1] may have a merge: all that have, few that have none.
  // Returns what is behind the last.
  template <class Place>
  Place* write_likely(const std::int32_t* ids, std::size_t count, Place* places) const {
    for (std::size_t i = 0; i + 1 < count; ++i) {
      *places = static_cast<Place>(i);
      places += filter_.may_hold(hash_of(pair_of(ids[i], ids[i + 1]))) ? 1 : 0;
    }
    return places;
  }

  std::int32_t result(std::int32_t rank) const {
    return in_order_ ? rank + first_result_ : results_[static_cast<std::size_t>(rank)];
  }

 private:
  static constexpr std::size_t filter_bits_per_slot = 4;

  std::uint64_t pair_of(std::int32_t left, std::int32_t right) const {
    return std::uint64_t{static_cast<std::uint32_t>(left)} << id_bits_ | static_cast<std::uint32_t>(right);
  }
  std::uint64_t pair_in(std::uint64_t slot) const { return slot & ((std::uint64_t{1} << 2 * id_bits_) - 1); }
  // The slot of the pair, or the free one where it would be.
  std::size_t slot_of(std::uint64_t pair, std::uint64_t hash) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t index = hash >> 8 & mask;
    while (slots_[index] != 0 && pair_in(slots_[index]) != pair) index = (index + 1) & mask;
    return index;
  }
  std::int32_t find(std::uint64_t pair, std::uint64_t hash) const {
    return static_cast<std::int32_t>(slots_[slot_of(pair, hash)] >> 2 * id_bits_) - 1;
  }

  int id_bits_ = 1;
  std::vector<std::uint64_t, TableAllocator<std::uint64_t>> slots_;  // a power of two; rank + 1 and the pair, or 0
  HashFilter filter_;
  std::vector<std::int32_t> results_;  // by rank
  // Whether all results so far are first_result_ + rank, as training gives them; then results_ need not be read.
  bool any_ = false, in_order_ = true;
  std::int32_t first_result_ = 0;
};

// Remembers the ids of pieces that were merged before, in slots that hold a piece of less than 8 * `words` bytes and at most
// `most_ids` ids themselves. Two pieces share a place; the one not met for longer makes room. One thread at a time.
template <std::size_t words, std::size_t most_ids, int place_bits>
class PieceSlots {
 public:
  static constexpr std::size_t most_bytes = 8 * words - 1, ids_written = most_ids + 1;
  // The result of find(), instead of a number of ids, for a piece that was inserted without ids.
  static constexpr std::int32_t without_ids = 0, unknown = -1;

  // The bytes of a piece, behind them zeros, in the last byte its size. One of no piece is in no table.
  struct Key {
    std::array<std::uint64_t, words> bytes;
  };
  static Key key_of_none() {
    Key key{};
    key.bytes[words - 1] = UINT64_MAX;
    return key;
  }

  // `piece` has 1 to most_bytes bytes; memory up to `readable_end` may be read.
  static Key key_of(std::string_view piece, const char* readable_end) {
    Key key{};
    if (static_cast<std::size_t>(readable_end - piece.data()) < sizeof key) {
      std::memcpy(key.bytes.data(), piece.data(), piece.size());
    } else {
      std::array<std::uint64_t, words> mask;
      std::memcpy(key.bytes.data(), piece.data(), sizeof key);
      std::memcpy(mask.data(), ones_and_zeros.data() + sizeof key - piece.size(), sizeof key);
      for (std::size_t i = 0; i < words; ++i) key.bytes[i] &= mask[i];
    }
    key.bytes[words - 1] |= static_cast<std::uint64_t>(piece.size()) << 56;
    return key;
  }

  static std::size_t place_of(const Key& key) {
    std::uint64_t hash = 0;
    for (std::size_t i = 0; i < words; i += 2) {
      const std::uint64_t low = key.bytes[i] ^ hash ^ 0x9E3779B97F4A7C15u,
                          high = key.bytes[i + 1] ^ 0xD6E8FEB86659FD93u;
      const auto product = Product{low} * high;
      hash = static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
    }
    return hash >> (64 - place_bits);
  }

  // Has a place fetched from memory where a piece is looked for soon.
  void prefetch(std::size_t place) const { __builtin_prefetch(places_.data() + place); }

  // Writes `ids_written` ids, of which as many as the number returned are the piece's; `without_ids` or `unknown`: none.
  std::int32_t find(const Key& key, std::size_t place, std::int32_t* ids) const {
    const Place& slots = places_[place];
    const bool not_newer = differs(slots[0], key), not_older = differs(slots[1], key);
    if (not_newer & not_older) return unknown;
    const Slot& slot = slots[not_newer];  // which of the two is no branch, as it could not be foreseen
    std::memcpy(ids, slot.ids.data(), sizeof slot.ids);
    return slot.ids[most_ids];
  }

  // Without ids when there are more than `most_ids`.
  void insert(const Key& key, std::size_t place, const std::int32_t* ids, std::size_t count) {
    Place& slots = places_[place];
    slots[1] = slots[0];
    Slot& newer = slots[0] = {key.bytes, {}};
    if (count > most_ids) return;
    std::copy(ids, ids + count, newer.ids.begin());
    newer.ids[most_ids] = static_cast<std::int32_t>(count);
  }

 private:
  __extension__ using Product = unsigned __int128;
  struct Slot {
    std::array<std::uint64_t, words> bytes{};
    std::array<std::int32_t, most_ids + 1> ids{};  // the last one is how many there are
  };
  struct alignas(2 * sizeof(Slot)) Place : std::array<Slot, 2> {};  // the newer one first
  static constexpr std::array<unsigned char, 16 * words> ones_and_zeros = [] {
    std::array<unsigned char, 16 * words> all{};
    for (std::size_t i = 0; i < 8 * words; ++i) all[i] = 0xFF;
    return all;
  }();

  static bool differs(const Slot& slot, const Key& key) {
    std::uint64_t different = 0;
    for (std::size_t i = 0; i < words; ++i) different |= slot.bytes[i] ^ key.bytes[i];
    return different != 0;
  }

  std::vector<Place, TableAllocator<Place>> places_{std::size_t{1} << place_bits};
};

using ShortPieces = PieceSlots<2, 3, 15>;   // 2 MiB
using MiddlePieces = PieceSlots<4, 7, 14>;  // 2 MiB
using LongPieces = PieceSlots<16, 31, 11>;  // 1 MiB

}  // namespace troika::tokenizer
