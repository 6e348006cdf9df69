// Where merging can join two neighbours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tokenizer/bpe_tables.h"

namespace troika::tokenizer {

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

  // false: no merge ever reaches across the border between the two symbols.
  bool may_join(std::int32_t left, std::int32_t right) const { return pairs_.may_hold(hash_of(pair_of(left, right))); }

 private:
  static std::uint64_t pair_of(std::int32_t left, std::int32_t right) {
    return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
  }

  HashFilter pairs_;
};

}  // namespace troika::tokenizer
