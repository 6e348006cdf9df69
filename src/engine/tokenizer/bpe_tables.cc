#include "tokenizer/bpe_tables.h"

#include <sys/mman.h>
#include <xxhash.h>

#include <new>

#include "base/error.h"
#include "base/say.h"

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

// The slot of `bytes`, or the free slot for them.
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

HashFilter::HashFilter(std::size_t bits) {
  while (std::uint64_t{1} << (64 - shift_) < bits) --shift_;
  words_.resize((std::size_t{1} << (64 - shift_)) / 64);
}

MergeTable::MergeTable(std::size_t merges, std::size_t vocab_size) : results_(merges, -1) {
  int rank_bits = 1;
  while (vocab_size >> id_bits_ != 0) ++id_bits_;
  while (merges >> rank_bits != 0) ++rank_bits;
  if (2 * id_bits_ + rank_bits > 64)
    throw base::DataError(base::say("a vocabulary of {} ids with {} merges is not supported: two ids and a rank need {} bits, and at most 64 fit", vocab_size, merges, 2 * id_bits_ + rank_bits));
  std::size_t size = 64;
  while (3 * size < 4 * merges) size *= 2;
  slots_.resize(size);
  filter_ = HashFilter(size * filter_bits_per_slot);
}

void MergeTable::set(std::int32_t left, std::int32_t right, std::int32_t rank, std::int32_t result) {
  const std::uint64_t pair = pair_of(left, right), hash = hash_of(pair);
  slots_[slot_of(pair, hash)] = (static_cast<std::uint64_t>(rank) + 1) << 2 * id_bits_ | pair;
  filter_.add(hash);
  results_.at(static_cast<std::size_t>(rank)) = result;
  if (!any_) first_result_ = result - rank;
  in_order_ = in_order_ && result - rank == first_result_;
  any_ = true;
}

static constexpr std::size_t huge_page = std::size_t{2} << 20;

static std::align_val_t alignment_of(std::size_t bytes, std::size_t alignment) {
  return std::align_val_t(bytes < huge_page ? std::max(alignment, sizeof(void*)) : huge_page);
}

void* allocate_table(std::size_t bytes, std::size_t alignment) {
  void* memory = ::operator new(bytes, alignment_of(bytes, alignment));
#ifdef MADV_HUGEPAGE
  if (bytes >= huge_page) ::madvise(memory, bytes / huge_page * huge_page, MADV_HUGEPAGE);  // a hint
#endif
  return memory;
}

void free_table(void* memory, std::size_t bytes, std::size_t alignment) {
  ::operator delete(memory, alignment_of(bytes, alignment));
}

}  // namespace troika::tokenizer
