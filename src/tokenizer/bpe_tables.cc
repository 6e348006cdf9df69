#include "tokenizer/bpe_tables.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>

namespace troika::tokenizer {

TokenTable::TokenTable(const std::vector<std::string>& tokens, const std::vector<std::int32_t>& left_out)
    : tokens_(&tokens) {
  std::vector<bool> skipped(tokens.size(), false);
  for (const std::int32_t id : left_out) skipped.at(static_cast<std::size_t>(id)) = true;
  std::size_t size = 16;
  while (size < 2 * tokens.size()) size *= 2;
  slots_.resize(size);
  for (std::size_t id = 0; id < tokens.size(); ++id) {
    if (tokens[id].empty() || skipped[id]) continue;
    const std::uint64_t hash = XXH3_64bits(tokens[id].data(), tokens[id].size());
    Slot& slot = slots_[slot_of(tokens[id], hash)];
    if (slot.id < 0) slot = {static_cast<std::uint32_t>(hash), static_cast<std::int32_t>(id)};
  }
}

// Where `bytes` stand, or the free slot where they would.
std::size_t TokenTable::slot_of(std::string_view bytes, std::uint64_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t index = (hash >> 32) & mask;; index = (index + 1) & mask) {
    const Slot& slot = slots_[index];
    if (slot.id < 0) return index;
    if (slot.hash == static_cast<std::uint32_t>(hash) && (*tokens_)[static_cast<std::size_t>(slot.id)] == bytes)
      return index;
  }
}

std::int32_t TokenTable::find(std::string_view bytes) const {
  return slots_.empty() ? -1 : slots_[slot_of(bytes, XXH3_64bits(bytes.data(), bytes.size()))].id;
}

static constexpr std::size_t slot_count = 1 << 17;
static constexpr std::size_t most_used = slot_count / 2;
static constexpr std::size_t most_key_bytes = 3 << 20, most_ids = 1 << 20;  // beside 5 MiB of slots
static constexpr std::size_t longest_piece = 128;
static constexpr std::size_t short_bits = 16;
static constexpr std::size_t longest_short_word = 16;

template <class Word>
static std::uint64_t load(const char* bytes) {
  Word word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

// Size and the two words together determine the bytes. `piece` has 1 to 16 of them.
WordCache::ShortSlot WordCache::short_key(std::string_view piece) {
  ShortSlot key;
  const char* p = piece.data();
  const std::size_t size = piece.size();
  key.size = static_cast<std::uint16_t>(size);
  if (size >= 8) {
    key.head = load<std::uint64_t>(p);
    key.tail = load<std::uint64_t>(p + size - 8);
  } else if (size >= 4) {
    key.head = load<std::uint32_t>(p);
    key.tail = load<std::uint32_t>(p + size - 4);
  } else {
    key.head = load<std::uint8_t>(p) | load<std::uint8_t>(p + size / 2) << 8;
    key.tail = load<std::uint8_t>(p + size - 1);
  }
  return key;
}

std::size_t WordCache::pair_of(const ShortSlot& key) {
  std::uint64_t mixed = (key.head ^ key.size) * 0x9E3779B97F4A7C15u;
  mixed = (mixed ^ mixed >> 32 ^ key.tail) * 0xD6E8FEB86659FD93u;
  return (mixed ^ mixed >> 29) * 0x9E3779B97F4A7C15u >> (64 - short_bits) & ~std::size_t{1};
}

std::size_t WordCache::slot_of(std::string_view piece, std::uint64_t hash) const {
  std::size_t index = hash & (slot_count - 1);
  for (;; index = (index + 1) & (slot_count - 1)) {
    const Slot& slot = slots_[index];
    if (slot.key_size == 0) return index;
    if (slot.hash == hash && piece == std::string_view(keys_.data() + slot.key_begin, slot.key_size)) return index;
  }
}

bool WordCache::find(std::string_view piece, std::vector<std::int32_t>* ids) const {
  if (piece.size() > longest_piece || piece.empty()) return false;
  if (piece.size() <= longest_short_word && !short_slots_.empty()) {
    const ShortSlot key = short_key(piece);
    const ShortSlot* pair = &short_slots_[pair_of(key)];
    for (const ShortSlot* slot = pair; slot != pair + 2; ++slot) {
      if (slot->head != key.head || slot->tail != key.tail || slot->size != key.size) continue;
      for (std::size_t i = 0; i < slot->count; ++i) ids->push_back(slot->ids[i]);
      return true;
    }
  }
  if (slots_.empty()) return false;
  const Slot& slot = slots_[slot_of(piece, XXH3_64bits(piece.data(), piece.size()))];
  if (slot.key_size == 0) return false;
  const std::int32_t* first = ids_.data() + slot.ids_begin;
  ids->insert(ids->end(), first, first + slot.ids_count);
  return true;
}

void WordCache::insert_short(const ShortSlot& slot) {
  if (short_slots_.empty()) short_slots_.resize(std::size_t{1} << short_bits);
  const std::size_t pair = pair_of(slot);
  short_slots_[pair + 1] = short_slots_[pair];
  short_slots_[pair] = slot;
}

void WordCache::insert(std::string_view piece, const std::int32_t* ids, std::size_t count) {
  if (piece.empty() || piece.size() > longest_piece) return;
  if (piece.size() <= longest_short_word && count <= 3) {
    ShortSlot slot = short_key(piece);
    std::copy(ids, ids + count, slot.ids.begin());
    slot.count = static_cast<std::uint16_t>(count);
    return insert_short(slot);
  }
  const bool full =
      used_ == most_used || keys_.size() + piece.size() > most_key_bytes || ids_.size() + count > most_ids;
  if (slots_.empty() || full) clear();
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
  keys_.reserve(most_key_bytes);  // at once, since growth by doubling would take more than the bound
  ids_.reserve(most_ids);
  used_ = 0;
}

}  // namespace troika::tokenizer
