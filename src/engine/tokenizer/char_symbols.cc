#include "tokenizer/char_symbols.h"

#include <algorithm>
#include <map>

#include "tokenizer/unicode.h"

namespace troika::tokenizer {

static constexpr std::uint32_t first_code_point = 0x80, code_points_end = 0x20000;  // beyond: bytes

class CharSymbols::Maker {
 public:
  Maker(const ByteIds& byte_ids, const std::vector<std::string>& tokens, const Pairs& merges, const MergeTable& table)
      : byte_ids_(byte_ids), table_(table) {
    for (auto& ranks : lowest_) ranks.assign(tokens.size(), UINT32_MAX);
    for (std::size_t rank = 0; rank < merges.size(); ++rank) {
      const auto left = static_cast<std::size_t>(merges[rank].first);
      const auto right = static_cast<std::size_t>(merges[rank].second);
      const auto lower = [&](Beside beside, std::size_t id) {
        lowest_[beside][id] = std::min(lowest_[beside][id], static_cast<std::uint32_t>(rank));
      };
      lower(static_cast<unsigned char>(tokens[left].back()) < 0x80 ? left_is_ascii : left_is_other, right);
      lower(static_cast<unsigned char>(tokens[right].front()) < 0x80 ? right_is_ascii : right_is_other, left);
    }
  }

  struct Result {
    std::array<std::int32_t, 4> ids;
    std::size_t count;
    std::uint32_t flags;
  };

  // Merges the bytes of one character as if it stood alone.
  Result merge(std::string_view bytes) const {
    Result result{{}, bytes.size(), 0};
    auto& ids = result.ids;
    for (std::size_t i = 0; i < bytes.size(); ++i) ids[i] = byte_ids_[static_cast<unsigned char>(bytes[i])];
    std::array<std::uint32_t, 4> lowest{UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX};  // with any state on the way
    for (std::int32_t highest = -1;;) {
      const auto see = [&](Beside beside, std::int32_t id) {
        lowest[beside] = std::min(lowest[beside], lowest_[beside][static_cast<std::size_t>(id)]);
      };
      for (const Beside beside : {left_is_ascii, left_is_other}) see(beside, ids[0]);
      for (const Beside beside : {right_is_ascii, right_is_other}) see(beside, ids[result.count - 1]);
      const std::size_t best = lowest_pair(result);
      if (best == result.count) {
        result.flags = flags_of(lowest, highest);
        return result;
      }
      const std::int32_t rank = table_.rank(ids[best], ids[best + 1]);
      highest = std::max(highest, rank);
      ids[best] = table_.result(rank);
      std::copy(ids.begin() + best + 2, ids.begin() + result.count, ids.begin() + best + 1);
      --result.count;
    }
  }

 private:
  // A neighbour whose byte next to the character is in ASCII or not, and its place.
  enum Beside { left_is_ascii, right_is_ascii, left_is_other, right_is_other };

  // The leftmost pair of lowest rank; `count` when no pair has one.
  std::size_t lowest_pair(const Result& symbols) const {
    std::size_t best = symbols.count;
    auto lowest = UINT32_MAX;  // as unsigned, no merge is the highest
    for (std::size_t i = 0; i + 1 < symbols.count; ++i) {
      const auto rank = static_cast<std::uint32_t>(table_.rank(symbols.ids[i], symbols.ids[i + 1]));
      if (rank < lowest) lowest = rank, best = i;
    }
    return best;
  }

  // `highest` of the character's own merges, -1 when it has none.
  static std::uint32_t flags_of(const std::array<std::uint32_t, 4>& lowest, std::int32_t highest) {
    std::uint32_t flags = 0;
    for (std::size_t i = 0; i < 4; ++i)
      if (highest >= 0 && lowest[i] <= static_cast<std::uint32_t>(highest)) flags |= 1u << i;
    return flags;
  }

  const ByteIds& byte_ids_;
  const MergeTable& table_;
  std::array<std::vector<std::uint32_t>, 4> lowest_;  // by Beside and id: of all its merges with such a neighbour
};

CharSymbols::CharSymbols(const ByteIds& byte_ids, const LackingBytes& lacking, const std::vector<std::string>& tokens,
                         const Pairs& merges, const MergeTable& table)
    : byte_ids_(byte_ids), lacking_(lacking) {
  const Maker maker(byte_ids, tokens, merges, table);
  std::map<std::vector<std::uint32_t>, std::uint32_t> known;
  std::vector<std::uint32_t> block(block_size);
  for (std::uint32_t begin = 0; begin < code_points_end; begin += block_size) {
    for (std::uint32_t i = 0; i < block_size; ++i) block[i] = make_symbol(maker, begin + i);
    const auto [place, is_new] = known.emplace(block, static_cast<std::uint32_t>(symbols_.size()));
    if (is_new) symbols_.insert(symbols_.end(), block.begin(), block.end());
    block_of_.push_back(place->second);
  }
}

std::uint32_t CharSymbols::make_symbol(const Maker& maker, std::uint32_t c) {
  if (c < first_code_point) return always_bytes;
  std::string bytes;
  append_utf8(c, &bytes);
  if (lacking(bytes) > 0) return always_bytes;
  const Maker::Result made = maker.merge(bytes);
  if (made.count == bytes.size()) return always_bytes;
  const bool alone = made.count == 1 && made.ids[0] < 1 << (31 - flag_bits);
  const auto value = static_cast<std::uint32_t>(alone ? made.ids[0] : static_cast<std::int32_t>(lists_.size()));
  if (!alone) {
    lists_.push_back(static_cast<std::int32_t>(made.count));
    lists_.insert(lists_.end(), made.ids.begin(), made.ids.begin() + made.count);
  }
  return (alone ? 0 : list) | value << flag_bits | made.flags;
}

std::vector<bool> CharSymbols::symbols(std::size_t vocab_size) const {
  std::vector<bool> given(vocab_size, false);
  const auto give = [&](std::int32_t id) { given[static_cast<std::size_t>(id)] = true; };
  for (std::size_t byte = 0; byte < byte_ids_.size(); ++byte)
    if (!lacking_.bytes[byte]) give(byte_ids_[byte]);
  for (std::size_t i = 0; i < lists_.size(); i += 1 + static_cast<std::size_t>(lists_[i]))
    for (std::int32_t k = 1; k <= lists_[i]; ++k) give(lists_[i + static_cast<std::size_t>(k)]);
  for (const std::uint32_t symbol : symbols_)
    if ((symbol & (list | always_bytes)) == 0) give(static_cast<std::int32_t>(symbol >> flag_bits));
  return given;
}

std::size_t CharSymbols::lacking(std::string_view piece) const {
  if (!lacking_.any) return 0;
  return static_cast<std::size_t>(std::count_if(piece.begin(), piece.end(), [&](char c) {
    return lacking_.bytes[static_cast<unsigned char>(c)];
  }));
}

std::int32_t* CharSymbols::write_lacking(std::string_view piece, std::int32_t* ids) const {
  bool in_run = false;
  for (const char c : piece) {
    const auto byte = static_cast<unsigned char>(c);
    if (!lacking_.bytes[byte]) {
      *ids++ = byte_ids_[byte];
    } else if (lacking_.unknown >= 0 && !(in_run && lacking_.fused)) {
      *ids++ = lacking_.unknown;
    }
    in_run = lacking_.bytes[byte];
  }
  return ids;
}

std::int32_t* CharSymbols::write(std::string_view piece, std::int32_t* ids) const {
  const auto is_ascii = [&](std::size_t i) { return static_cast<unsigned char>(piece[i]) < 0x80; };
  const auto byte_id = [&](std::size_t i) { return byte_ids_[static_cast<unsigned char>(piece[i])]; };
  std::uint32_t before = 0;  // the flag of the character before
  for (std::size_t at = 0; at < piece.size();) {
    if (is_ascii(at) || piece.size() == 1) {
      *ids++ = byte_id(at++);
      before = ascii_before;
      continue;
    }
    std::size_t behind = at;
    const std::uint32_t symbol = symbol_of(next_code_point(piece, &behind));
    const std::uint32_t next = behind == piece.size() ? 0 : is_ascii(behind) ? ascii_behind : other_behind;
    const std::uint32_t value = (symbol & ~list) >> flag_bits;
    if ((symbol & (before | next | always_bytes)) != 0) {
      for (; at < behind; ++at) *ids++ = byte_id(at);
    } else if ((symbol & list) == 0) {
      *ids++ = static_cast<std::int32_t>(value);
    } else {
      for (std::int32_t i = 1; i <= lists_[value]; ++i) *ids++ = lists_[value + static_cast<std::size_t>(i)];
    }
    at = behind;
    before = other_before;
  }
  return ids;
}

}  // namespace troika::tokenizer
