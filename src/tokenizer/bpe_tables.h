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

#include "tokenizer/huge_pages.h"

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
  static std::uint64_t hash_of(std::uint64_t pair) {
    const std::uint64_t mixed = pair * 0x9E3779B97F4A7C15u;
    return (mixed ^ mixed >> 32) * 0xD6E8FEB86659FD93u;
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

// Remembers the ids of pieces that were merged before, in slots that hold a piece of at most 8 * `words` bytes and at most
// `most_ids` ids themselves. Two pieces share a place; the one not met for longer makes room. One thread at a time.
template <std::size_t words, std::size_t most_ids, int place_bits>
class PieceSlots {
 public:
  static constexpr std::size_t most_bytes = 8 * words, ids_written = most_ids;

  // The bytes of a piece, behind them zeros. Size 0: of no piece.
  struct Key {
    std::array<std::uint64_t, words> bytes{};
    std::uint32_t size = 0;
  };

  // `piece` has 1 to most_bytes bytes; memory up to `readable_end` may be read.
  static Key key_of(std::string_view piece, const char* readable_end) {
    Key key{{}, static_cast<std::uint32_t>(piece.size())};
    if (static_cast<std::size_t>(readable_end - piece.data()) < most_bytes) {
      std::memcpy(key.bytes.data(), piece.data(), piece.size());
      return key;
    }
    std::array<std::uint64_t, words> mask;
    std::memcpy(key.bytes.data(), piece.data(), most_bytes);
    std::memcpy(mask.data(), ones_and_zeros.data() + most_bytes - piece.size(), most_bytes);
    for (std::size_t i = 0; i < words; ++i) key.bytes[i] &= mask[i];
    return key;
  }

  // Has the place of a piece that is looked for soon fetched from memory.
  void prefetch(const Key& key) const {
    if (!places_.empty()) __builtin_prefetch(&places_[place_of(key)]);
  }

  // Writes `ids_written` ids, of which those up to the address returned are the piece's; null: not known, nothing written.
  std::int32_t* find(const Key& key, std::int32_t* ids) const {
    if (places_.empty() || key.size == 0) return nullptr;
    const Place& place = places_[place_of(key)];
    const bool newer = matches(place.newer, key);
    if (!newer && !matches(place.older, key)) return nullptr;
    const Slot& slot = newer ? place.newer : place.older;
    std::memcpy(ids, slot.ids.data(), sizeof slot.ids);
    return ids + slot.count;
  }

  // At most `ids_written` ids.
  void insert(const Key& key, const std::int32_t* ids, std::size_t count) {
    if (places_.empty()) places_.resize(std::size_t{1} << place_bits);
    Place& place = places_[place_of(key)];
    place.older = place.newer;
    place.newer = {key.bytes, {}, static_cast<std::uint16_t>(key.size), static_cast<std::uint16_t>(count)};
    std::copy(ids, ids + count, place.newer.ids.begin());
  }

 private:
  struct Slot {
    std::array<std::uint64_t, words> bytes{};
    std::array<std::int32_t, most_ids> ids{};
    std::uint16_t size = 0, count = 0;  // size 0: free
  };
  struct alignas(2 * sizeof(Slot)) Place {
    Slot newer, older;
  };
  static constexpr std::array<unsigned char, 2 * most_bytes> ones_and_zeros = [] {
    std::array<unsigned char, 2 * most_bytes> all{};
    for (std::size_t i = 0; i < most_bytes; ++i) all[i] = 0xFF;
    return all;
  }();

  static bool matches(const Slot& slot, const Key& key) {
    std::uint64_t different = slot.size ^ key.size;
    for (std::size_t i = 0; i < words; ++i) different |= slot.bytes[i] ^ key.bytes[i];
    return different == 0;
  }
  static std::size_t place_of(const Key& key) {
    std::uint64_t hash = key.size;
    for (std::size_t i = 0; i < words; ++i) hash = ((hash ^ hash >> 32) ^ key.bytes[i]) * 0x9E3779B97F4A7C15u;
    return (hash ^ hash >> 29) * 0xD6E8FEB86659FD93u >> (64 - place_bits);
  }

  std::vector<Place, TableAllocator<Place>> places_;  // empty until the first piece
};

using ShortPieces = PieceSlots<2, 3, 15>;   // 2 MiB
using MiddlePieces = PieceSlots<4, 7, 14>;  // 2 MiB
using LongPieces = PieceSlots<16, 31, 11>;  // 1 MiB

}  // namespace troika::tokenizer
