// Pair of token ids -> rank and result of their merge.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace troika::data {

struct Merge {
  std::int32_t rank = -1;  // -1: no such merge
  std::int32_t result = -1;
};

// Open addressing. Threads: const use is safe.
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

}  // namespace troika::data
