#include "tokenizer/bpe_tables.h"

#include <xxhash.h>

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

}  // namespace troika::tokenizer
