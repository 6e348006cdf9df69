// Remembers the ids of pieces that were merged before. Natural text repeats few pieces often, so most pieces cost a
// lookup.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troika::data {

// Bounded: about 10 MB; when full it forgets everything and starts again. One thread at a time.
class WordCache {
 public:
  // Appends the ids of `piece` when it is known.
  bool find(std::string_view piece, std::vector<std::int32_t>* ids) const;
  // Pieces longer than 128 bytes are not kept. `ids` may be empty only for an empty piece.
  void insert(std::string_view piece, const std::int32_t* ids, std::size_t count);

 private:
  struct Slot {
    std::uint64_t hash = 0;
    std::uint32_t key_begin = 0, ids_begin = 0;
    std::uint16_t key_size = 0, ids_count = 0;  // key_size 0: free
  };
  std::size_t slot_of(std::string_view piece, std::uint64_t hash) const;
  void clear();

  std::vector<Slot> slots_;  // open addressing, a power of two
  std::size_t used_ = 0;
  std::string keys_;
  std::vector<std::int32_t> ids_;
};

}  // namespace troika::data
