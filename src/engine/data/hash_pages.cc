#include "data/hash_pages.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cstdint>
#include <memory>

namespace troika::data {

std::string hash_and_drop(const base::MappedFile& file, std::size_t first, std::size_t behind) {
  constexpr std::size_t most_read_bytes = 4 << 20;
  const std::unique_ptr<XXH3_state_t, decltype(&::XXH3_freeState)> state(::XXH3_createState(), &::XXH3_freeState);
  ::XXH3_64bits_reset(state.get());
  const std::size_t end = std::min(behind, file.size());
  for (std::size_t at = first; at < end;) {
    const std::size_t bytes = std::min(most_read_bytes, end - at);
    ::XXH3_64bits_update(state.get(), file.data() + at, bytes);
    file.drop(static_cast<std::int64_t>(at), static_cast<std::int64_t>(bytes));
    at += bytes;
  }
  return fmt::format("{:016x}", ::XXH3_64bits_digest(state.get()));
}

}  // namespace troika::data
