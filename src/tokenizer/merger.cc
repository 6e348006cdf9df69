#include "tokenizer/merger.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>

#include "base/error.h"

namespace troika::tokenizer {

static constexpr std::size_t most_of_few = 32;

Merger::Merger(const CharSymbols::ByteIds& byte_ids, const std::vector<std::string>& tokens,
               const CharSymbols::Pairs& merges, const TokenTable& ids)
    : merges_(merges.size(), tokens.size()) {
  const auto is_token = [&](std::int32_t id) {
    return id >= 0 && static_cast<std::size_t>(id) < tokens.size() && !tokens[static_cast<std::size_t>(id)].empty();
  };
  for (std::size_t rank = 0; rank < merges.size(); ++rank) {
    const auto [left, right] = merges[rank];
    if (!is_token(left) || !is_token(right))
      throw base::DataError(fmt::format("merge {} is of a token that is not in the vocabulary", rank));
    const std::int32_t result =
        ids.find(tokens[static_cast<std::size_t>(left)] + tokens[static_cast<std::size_t>(right)]);
    if (result < 0) throw base::DataError(fmt::format("the result of merge {} is not in the vocabulary", rank));
    merges_.set(left, right, static_cast<std::int32_t>(rank), result);
  }
  characters_ = CharSymbols(byte_ids, tokens, merges, merges_);
}

std::int32_t* Merger::merge(std::string_view piece, Scratch* scratch, std::int32_t* ids) const {
  const auto count = static_cast<std::size_t>(characters_.write(piece, ids) - ids);
  return count <= most_of_few ? merge_few(ids, count) : merge_many(ids, count, scratch);
}

// Looking at all pairs each time costs less than a heap.
std::int32_t* Merger::merge_few(std::int32_t* ids, std::size_t count) const {
  static constexpr std::uint64_t none = UINT64_MAX;
  std::array<std::uint64_t, most_of_few> pairs;  // rank << 8 | place of a symbol's merge with the next
  std::array<std::uint8_t, most_of_few> likely, next, previous;
  const auto look = [&](std::size_t i, std::size_t right) {
    const std::int32_t rank = merges_.rank(ids[i], ids[right]);
    pairs[i] = rank < 0 ? none : static_cast<std::uint64_t>(rank) << 8 | i;
  };
  for (std::size_t i = 0; i < count; ++i) {
    pairs[i] = none;
    next[i] = static_cast<std::uint8_t>(i + 1);
    previous[i] = static_cast<std::uint8_t>(i - 1);  // of the first never asked for
  }
  const std::uint8_t* end_of_likely = merges_.write_likely(ids, count, likely.data());
  for (const std::uint8_t* i = likely.data(); i != end_of_likely; ++i) look(*i, *i + std::size_t{1});
  for (;;) {
    std::uint64_t best = none;
    for (std::size_t i = 0; i + 1 < count; ++i) best = std::min(best, pairs[i]);
    if (best == none) break;
    const std::size_t left = best & 255, right = next[left], behind = next[right];
    ids[left] = merges_.result(static_cast<std::int32_t>(best >> 8));
    pairs[left] = none;
    pairs[right] = none;
    next[left] = static_cast<std::uint8_t>(behind);
    if (behind < count) {
      previous[behind] = static_cast<std::uint8_t>(left);
      look(left, behind);
    }
    if (left > 0) look(previous[left], left);
  }
  std::int32_t* end = ids;
  for (std::size_t i = 0; i < count; i = next[i]) *end++ = ids[i];
  return end;
}

// In O(n log n) for n symbols.
std::int32_t* Merger::merge_many(std::int32_t* ids, std::size_t count, Scratch* scratch) const {
  auto& links = scratch->links;
  auto& queue = scratch->queue;
  const auto last = static_cast<std::int32_t>(count) - 1;
  links.resize(std::max(links.size(), count));
  queue.clear();
  const auto at = [&](std::int32_t i) -> Scratch::Link& { return links[static_cast<std::size_t>(i)]; };
  const auto look = [&](std::int32_t i) {
    Scratch::Link& link = at(i);
    link.rank = link.next > last ? -1 : merges_.rank(ids[i], ids[link.next]);
    if (link.rank < 0) return false;
    queue.push_back(static_cast<std::uint64_t>(link.rank) << 32 | static_cast<std::uint32_t>(i));
    return true;
  };
  for (std::int32_t i = 0; i <= last; ++i) at(i) = {i - 1, i + 1, -1};
  scratch->likely.resize(std::max(scratch->likely.size(), count));
  const std::int32_t* end_of_likely = merges_.write_likely(ids, count, scratch->likely.data());
  for (const std::int32_t* i = scratch->likely.data(); i != end_of_likely; ++i) look(*i);
  const std::greater<> lower;
  std::make_heap(queue.begin(), queue.end(), lower);
  while (!queue.empty()) {
    const std::uint64_t best = queue.front();
    std::pop_heap(queue.begin(), queue.end(), lower);
    queue.pop_back();
    const auto left = static_cast<std::int32_t>(best & UINT32_MAX);
    Scratch::Link& link = at(left);
    if (link.rank != static_cast<std::int32_t>(best >> 32)) continue;  // one of the two is gone
    Scratch::Link& right = at(link.next);
    right.rank = -1;
    ids[left] = merges_.result(link.rank);
    link.next = right.next;
    if (link.next <= last) at(link.next).previous = left;
    if (look(left)) std::push_heap(queue.begin(), queue.end(), lower);
    if (link.previous >= 0 && look(link.previous)) std::push_heap(queue.begin(), queue.end(), lower);
  }
  std::int32_t* end = ids;
  for (std::int32_t i = 0; i <= last; i = at(i).next) *end++ = ids[i];
  return end;
}

}  // namespace troika::tokenizer
