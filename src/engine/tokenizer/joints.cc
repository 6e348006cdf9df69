#include "tokenizer/joints.h"

#include <array>
#include <string_view>

namespace troika::tokenizer {

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
    for (std::size_t i = 0; i < before.count; ++i) {
      for (std::size_t k = 0; k < behind.count; ++k) pairs_.add(hash_of(pair_of(before.ids[i], behind.ids[k])));
    }
  }
}

}  // namespace troika::tokenizer
