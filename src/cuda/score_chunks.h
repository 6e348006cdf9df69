// How attention by products cuts its queries: scores of fp32 exist for a chunk of them at a time, of all heads that are multiplied at
// once (kv heads that equally many query heads read). Plain arithmetic, for the plan too.
#pragma once

#include <cstdint>

namespace troika::cuda {

inline constexpr std::int64_t most_scores_bytes = 64 << 20;  // or those of one query
constexpr std::int64_t spaced(std::int64_t S) { return (S + 7) / 8 * 8; }  // elements from row to row
constexpr std::int64_t chunk_queries(std::int64_t heads, std::int64_t T, std::int64_t S, std::int64_t bytes = most_scores_bytes) {
  const std::int64_t of_query = 4 * heads * spaced(S), queries = of_query == 0 ? T : bytes / of_query;
  return queries < 1 ? 1 : queries < T ? queries : T;
}
// What they take, in forward; twice as much in backward.
constexpr std::int64_t scores_bytes(std::int64_t heads, std::int64_t T, std::int64_t S) {
  return 4 * heads * spaced(S) * chunk_queries(heads, T, S);
}


// cuDNN's backward, where it is repeatable, keeps the gradients of the scores of as many heads as are computed at a time, in the operands'
// dtype. These are so many that they fit into this: or one key/value head's, where those fit into it at all.
inline constexpr std::int64_t most_flash_bytes = 2 * most_scores_bytes;
constexpr std::int64_t flash_gradient_bytes(std::int64_t heads, std::int64_t T, std::int64_t S) {
  return 2 * heads * ((T + 63) / 64 * 64) * ((S + 127) / 128 * 128);
}

}  // namespace troika::cuda
