// The one pool of threads: OpenMP's, which oneDNN uses too. Work is cut by shape, never by the number of threads,
// so results do not depend on it. As many threads work as tensor::set_threads allowed the calling thread.
#pragma once

#include <cstdint>
#include <functional>

namespace troika::cpu {

// body(i) for every i in [0, count), in any order, each once. Returns when all are done; throws what one of them threw. A
// call from inside a body runs on that body's thread alone.
void parallel_for(std::int64_t count, const std::function<void(std::int64_t)>& body);

// [0, total) in pieces of `piece`, the last may be shorter: body(begin, end).
void parallel_pieces(std::int64_t total, std::int64_t piece,
                     const std::function<void(std::int64_t begin, std::int64_t end)>& body);

}  // namespace troika::cpu
