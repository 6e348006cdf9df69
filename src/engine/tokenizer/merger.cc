#include "tokenizer/merger.h"

#include <algorithm>
#include <array>
#include <functional>

#include "base/error.h"
#include "base/say.h"

namespace troika::tokenizer {

static constexpr std::size_t window_symbols = 64, wide_window_symbols = 256, tokens_in_two_windows = 2;
static constexpr std::int32_t no_rank = INT32_MAX;

// Some symbols in a row on their way to tokens.
struct Merger::Window {
  std::size_t count;
  std::array<std::int32_t, wide_window_symbols> ids;
  std::array<std::uint8_t, wide_window_symbols> places;     // of the first symbol of each
  std::array<std::int32_t, wide_window_symbols + 4> ranks;  // of its merge with the next, or no_rank

  // The lowest of all ranks; behind the last one are three `no_rank`.
  std::int32_t lowest_rank() const {
    std::array<std::int32_t, 4> lowest{no_rank, no_rank, no_rank, no_rank};
    for (std::size_t i = 0; i < count; i += 4)
      for (std::size_t k = 0; k < 4; ++k) lowest[k] = std::min(lowest[k], ranks[i + k]);
    return std::min(std::min(lowest[0], lowest[1]), std::min(lowest[2], lowest[3]));
  }
};

static bool is_token(const std::vector<std::string>& tokens, std::int32_t id) {
  return id >= 0 && static_cast<std::size_t>(id) < tokens.size() && !tokens[static_cast<std::size_t>(id)].empty();
}

// The result of a merge.
static std::int32_t result_of(const CharSymbols::Pairs& merges, std::size_t number,
                              const std::vector<std::string>& tokens, const TokenTable& ids) {
  const auto [left, right] = merges[number];
  if (!is_token(tokens, left) || !is_token(tokens, right))
    throw base::DataError(base::say("merge {} uses a token that is not in the vocabulary", number));
  const std::int32_t result =
      ids.find(tokens[static_cast<std::size_t>(left)] + tokens[static_cast<std::size_t>(right)]);
  if (result < 0) throw base::DataError(base::say("the result of merge {} is not in the vocabulary", number));
  return result;
}

// Joints are found by bytes, which do not tell where the unknown token is.
static void refuse_unknown(std::size_t number) {
  throw base::DataError(
      base::say("merge {} uses the unk_token, which is not supported if bytes have no token: set unk_token to null, "
                "which drops them",
                number));
}

Merger::Merger(const CharSymbols::ByteIds& byte_ids, const LackingBytes& lacking,
               const std::vector<std::string>& tokens, const CharSymbols::Pairs& merges, const TokenTable& ids)
    : merges_(merges.size(), tokens.size()) {
  for (std::size_t rank = 0; rank < merges.size(); ++rank) {
    const auto [left, right] = merges[rank];
    const bool has_unknown = left == lacking.unknown || right == lacking.unknown;
    if (lacking.any && lacking.unknown >= 0 && has_unknown) refuse_unknown(rank);
    merges_.set(left, right, static_cast<std::int32_t>(rank), result_of(merges, rank, tokens, ids));
  }
  bytes_ = CharSymbols(byte_ids, lacking, tokens, merges, merges_);
  joints_ = Joints(bytes_.symbols(tokens.size()), tokens, merges, ids);
}

Merger::Merger(Characters characters, const std::vector<std::string>& tokens, const CharSymbols::Pairs& merges,
               const std::vector<std::int32_t>& order, const TokenTable& ids)
    : merges_(merges.size(), tokens.size()), characters_(std::move(characters)) {
  const Characters::Fallback& fallback = characters_->fallback();
  std::vector<bool> apart(tokens.size(), false);
  const auto set_apart = [&](std::int32_t id) {
    if (id >= 0) apart.at(static_cast<std::size_t>(id)) = true;
  };
  std::for_each(fallback.bytes.begin(), fallback.bytes.end(), set_apart);
  const bool lacks = std::count(fallback.bytes.begin(), fallback.bytes.end(), -1) > 0;
  std::int32_t rank = -1, last_result = -1;
  bool ties = false;
  for (std::size_t number = 0; number < merges.size(); ++number) {
    const auto [left, right] = merges[number];
    const std::int32_t result = result_of(merges, number, tokens, ids);
    if (lacks && (left == fallback.unknown || right == fallback.unknown)) refuse_unknown(number);
    if (apart[static_cast<std::size_t>(left)] || apart[static_cast<std::size_t>(right)])
      throw base::DataError(base::say("merge {} uses the token of a byte, which is not supported", number));
    const bool is_tied = !order.empty() && number > 0 && order[number] == order[number - 1];
    if (!is_tied || result != last_result) rank = static_cast<std::int32_t>(number);
    ties = ties || (is_tied && result != last_result);
    merges_.set(left, right, rank, last_result = result);
  }
  if (ties) order_ = order;
  joints_ = Joints(*characters_, tokens, merges);
}

std::size_t Merger::stretch_end(std::string_view text, std::size_t begin) const {
  Characters::Symbol last = characters_->at(text, begin);
  std::size_t end = begin + last.bytes;
  while (end < text.size()) {
    const Characters::Symbol next = characters_->at(text, end);
    const bool both =
        last.first >= 0 && next.first >= 0;  // what is dropped or unknown is seen together with what is beside it
    if (both && !joints_.may_join(last.last, next.first)) break;
    end += next.bytes;
    last = next;
  }
  return end;
}

Merger::Merged Merger::merge(std::string_view piece, Scratch* scratch, std::int32_t* ids) const {
  std::size_t lacking = 0;
  std::int32_t* end = ids;
  if (characters_) {
    end = characters_->write(piece, ids, &lacking);
  } else {
    lacking = bytes_.lacking(piece);
    end = lacking == 0 ? bytes_.write(piece, ids) : bytes_.write_lacking(piece, ids);
  }
  std::int32_t* merged = ids;
  bool at_once = true;
  for (std::int32_t* begin = ids; begin != end;) {
    std::int32_t* behind = begin + 1;
    while (behind != end && joints_.may_join(behind[-1], *behind)) ++behind;
    if (behind == begin + 1) {
      *merged++ = *begin++;
      continue;
    }
    at_once = false;
    merged = merge_stretch(begin, static_cast<std::size_t>(behind - begin), scratch, merged);
    begin = behind;
  }
  return {merged, at_once, lacking};
}

// At least two symbols that may all join. `ids` may be before `symbols` in the same memory.
std::int32_t* Merger::merge_stretch(const std::int32_t* symbols, std::size_t count, Scratch* scratch,
                                    std::int32_t* ids) const {
  if (count == 2) {
    const std::int32_t left = symbols[0], right = symbols[1], rank = merges_.rank(left, right);
    *ids++ = rank < 0 ? left : merges_.result(rank);
    if (rank < 0) *ids++ = right;
    return ids;
  }
  if (count <= window_symbols && order_.empty()) {
    Window window;
    merge_window(symbols, count, &window);
    return std::copy(window.ids.begin(), window.ids.begin() + window.count, ids);
  }
  scratch->symbols.assign(symbols, symbols + count);
  if (order_.empty()) {
    for (const std::size_t most : {window_symbols, wide_window_symbols})
      if (std::int32_t* end = merge_by_windows(scratch->symbols.data(), count, most, ids)) return end;
  }
  std::copy(scratch->symbols.begin(), scratch->symbols.end(), ids);
  return merge_by_heap(ids, count, scratch);
}

// Tokens are what merging makes of their text if and only if each two neighbours are what merging makes of theirs: the merges
// of the two take place in the same order with or without text around them. So what two windows make of their text can be put
// together at a token that both of them have. Null where a window does not have that token.
std::int32_t* Merger::merge_by_windows(const std::int32_t* symbols, std::size_t count, std::size_t most,
                                       std::int32_t* ids) const {
  Window window;
  std::int32_t shared = -1;  // that the window before has too
  for (std::size_t begin = 0;;) {
    const std::size_t size = std::min(most, count - begin);
    merge_window(symbols + begin, size, &window);
    if (begin > 0 && window.ids[0] != shared) return nullptr;
    const bool last = begin + size == count;
    if (!last && window.count <= tokens_in_two_windows) return nullptr;
    const std::size_t done = last ? window.count : window.count - tokens_in_two_windows;
    ids = std::copy(window.ids.begin(), window.ids.begin() + done, ids);
    if (last) return ids;
    shared = window.ids[done];
    begin += window.places[done];
  }
}

inline std::int32_t Merger::rank_or_none(std::int32_t left, std::int32_t right) const {
  const std::int32_t rank = merges_.rank(left, right);
  return rank < 0 ? no_rank : rank;
}

void Merger::merge_window(const std::int32_t* symbols, std::size_t count, Window* window) const {
  window->count = count;
  for (std::size_t i = 0; i < count; ++i) {
    window->ids[i] = symbols[i];
    window->places[i] = static_cast<std::uint8_t>(i);
    window->ranks[i] = no_rank;
  }
  std::fill_n(window->ranks.begin() + count, 4, no_rank);
  std::array<std::uint8_t, wide_window_symbols> likely;
  const std::uint8_t* end_of_likely = merges_.write_likely(symbols, count, likely.data());
  for (const std::uint8_t* i = likely.data(); i != end_of_likely; ++i)
    window->ranks[*i] = rank_or_none(symbols[*i], symbols[*i + 1]);
  for (;;) {
    const std::int32_t lowest = window->lowest_rank();
    if (lowest == no_rank) break;
    merge_lowest(lowest, window);
  }
}

// From left to right, up to where a new pair has a rank that is lower still.
void Merger::merge_lowest(std::int32_t lowest, Window* window) const {
  auto& [count, ids, places, ranks] = *window;
  const std::int32_t result = merges_.result(lowest);
  std::size_t at = 0;
  while (ranks[at] != lowest) ++at;
  bool stopped = false;
  for (std::size_t from = at; from < count; ++at) {
    places[at] = places[from];
    if (ranks[from] != lowest || stopped) {
      ids[at] = ids[from];
      ranks[at] = ranks[from++];
      continue;
    }
    ids[at] = result;
    from += 2;
    ranks[at] = from < count ? rank_or_none(result, ids[from]) : no_rank;
    if (at > 0) ranks[at - 1] = rank_or_none(ids[at - 1], result);
    stopped = ranks[at] < lowest || (at > 0 && ranks[at - 1] < lowest);
  }
  std::fill_n(ranks.begin() + at, 4, no_rank);
  count = at;
}

// In O(n log n) for n symbols.
std::int32_t* Merger::merge_by_heap(std::int32_t* ids, std::size_t count, Scratch* scratch) const {
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
    queue.push_back(entry(link.rank, i));
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
    if (link.rank < 0 || entry(link.rank, left) != best) continue;  // one of the two is gone
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

static constexpr std::size_t filter_bits_per_merge = 8, most_symbol_bytes = 4;

namespace {

struct SymbolIds {
  std::array<std::int32_t, most_symbol_bytes> ids;
  std::size_t count = 0;
};

// The symbols that one end of a token may come from: `end_of(n)` gives n bytes of it. Symbols of several bytes are not ASCII.
template <class EndOf>
SymbolIds symbols_at(std::size_t token_bytes, EndOf end_of, const std::vector<bool>& symbols, const TokenTable& ids) {
  SymbolIds found;
  for (std::size_t bytes = 1; bytes <= most_symbol_bytes && bytes <= token_bytes; ++bytes) {
    const std::string_view end = end_of(bytes);
    if (bytes > 1 && static_cast<unsigned char>(end.front() & end.back()) < 0x80) break;
    const std::int32_t id = ids.find(end);
    if (id >= 0 && symbols[static_cast<std::size_t>(id)]) found.ids[found.count++] = id;
  }
  return found;
}

}  // namespace

Joints::Joints(const std::vector<bool>& symbols, const std::vector<std::string>& tokens,
               const std::vector<std::pair<std::int32_t, std::int32_t>>& merges, const TokenTable& ids)
    : pairs_(merges.size() * filter_bits_per_merge) {
  for (const auto& [left, right] : merges) {
    const std::string_view first = tokens[static_cast<std::size_t>(left)];
    const std::string_view second = tokens[static_cast<std::size_t>(right)];
    const auto last_bytes = [&](std::size_t bytes) { return first.substr(first.size() - bytes); };
    const auto first_bytes = [&](std::size_t bytes) { return second.substr(0, bytes); };
    const SymbolIds before = symbols_at(first.size(), last_bytes, symbols, ids);
    const SymbolIds behind = symbols_at(second.size(), first_bytes, symbols, ids);
    for (std::size_t i = 0; i < before.count; ++i)
      for (std::size_t k = 0; k < behind.count; ++k) pairs_.add(hash_of(pair_of(before.ids[i], behind.ids[k])));
  }
}

Joints::Joints(const Characters& characters, const std::vector<std::string>& tokens,
               const std::vector<std::pair<std::int32_t, std::int32_t>>& merges)
    : pairs_(merges.size() * filter_bits_per_merge) {
  struct Ends {
    std::int32_t first, last;
  };
  std::vector<Ends> ends;  // by token: its first and last character
  for (const std::string& token : tokens) {
    std::size_t last = token.empty() ? 0 : token.size() - 1;
    while (last > 0 && (static_cast<unsigned char>(token[last]) & 0xC0) == 0x80) --last;
    ends.push_back(token.empty() ? Ends{-1, -1} : Ends{characters.at(token, 0).first, characters.at(token, last).last});
  }
  for (const auto& [left, right] : merges)
    pairs_.add(
        hash_of(pair_of(ends[static_cast<std::size_t>(left)].last, ends[static_cast<std::size_t>(right)].first)));
}

}  // namespace troika::tokenizer
