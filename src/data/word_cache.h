// Remembers the ids of pieces that were merged before. Natural text repeats few pieces often, so most pieces cost a
// lookup.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troika::data {

// Bounded: at most 12 MiB. One thread at a time.
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

}  // namespace troika::data
