// How the output projection with its loss cuts its rows: logits of fp32 exist for a chunk of them at a time. Plain arithmetic, for the
// plan too.
#pragma once

#include <algorithm>
#include <cstdint>

namespace troika::cuda {

// Every chunk costs a pass over the weight's gradient: as many rows of v logits as 1 GiB holds, a multiple of 128 up to 4096.
constexpr std::int64_t logit_chunk_rows(std::int64_t v) {
  return std::clamp<std::int64_t>((std::int64_t{1} << 30) / (4 * v) / 128 * 128, 128, 4096);
}

}  // namespace troika::cuda
