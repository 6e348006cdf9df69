// Bytes -> token id.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troika::data {

// Open addressing over the tokens of a vocabulary. Threads: const use is safe.
class TokenTable {
 public:
  TokenTable() = default;
  // The ids of `tokens` that are neither empty nor in `left_out`; of equal ones the smallest id. `tokens` must live as long as
  // the table, unchanged.
  TokenTable(const std::vector<std::string>& tokens, const std::vector<std::int32_t>& left_out);

  std::int32_t find(std::string_view bytes) const;  // -1: no token

 private:
  struct Slot {
    std::uint32_t hash = 0;
    std::int32_t id = -1;  // -1: free
  };
  std::size_t slot_of(std::string_view bytes, std::uint64_t hash) const;

  const std::vector<std::string>* tokens_ = nullptr;
  std::vector<Slot> slots_;  // a power of two
};

}  // namespace troika::data
