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

}  // namespace troika::cuda
