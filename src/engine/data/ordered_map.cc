#include "data/ordered_map.h"

#include <algorithm>

namespace troika::data {

int worker_count(std::int64_t wanted) {
  constexpr std::int64_t most = 256;
  const std::int64_t cores = std::max<std::int64_t>(1, std::thread::hardware_concurrency());
  return static_cast<int>(std::min(wanted > 0 ? wanted : cores, most));
}

}  // namespace troika::data
