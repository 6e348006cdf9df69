#include "data/word_cache.h"

#include <xxhash.h>

namespace troika::data {

static constexpr std::size_t slot_count = 1 << 17;
static constexpr std::size_t most_used = slot_count / 2;
static constexpr std::size_t longest_piece = 128;

std::size_t WordCache::slot_of(std::string_view piece, std::uint64_t hash) const {
  std::size_t index = hash & (slot_count - 1);
  for (;; index = (index + 1) & (slot_count - 1)) {
    const Slot& slot = slots_[index];
    if (slot.key_size == 0) return index;
    if (slot.hash == hash && piece == std::string_view(keys_.data() + slot.key_begin, slot.key_size)) return index;
  }
}

bool WordCache::find(std::string_view piece, std::vector<std::int32_t>* ids) const {
  if (slots_.empty() || piece.size() > longest_piece) return false;
  const Slot& slot = slots_[slot_of(piece, XXH3_64bits(piece.data(), piece.size()))];
  if (slot.key_size == 0) return false;
  const std::int32_t* first = ids_.data() + slot.ids_begin;
  ids->insert(ids->end(), first, first + slot.ids_count);
  return true;
}

void WordCache::insert(std::string_view piece, const std::int32_t* ids, std::size_t count) {
  if (piece.empty() || piece.size() > longest_piece) return;
  if (slots_.empty() || used_ == most_used) clear();
  const std::uint64_t hash = XXH3_64bits(piece.data(), piece.size());
  Slot& slot = slots_[slot_of(piece, hash)];
  if (slot.key_size != 0) return;
  slot = {hash, static_cast<std::uint32_t>(keys_.size()), static_cast<std::uint32_t>(ids_.size()),
          static_cast<std::uint16_t>(piece.size()), static_cast<std::uint16_t>(count)};
  keys_.append(piece);
  ids_.insert(ids_.end(), ids, ids + count);
  ++used_;
}

void WordCache::clear() {
  slots_.assign(slot_count, Slot());
  keys_.clear();
  ids_.clear();
  used_ = 0;
}

}  // namespace troika::data
