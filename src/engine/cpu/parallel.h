// The threads of operations. Work is cut by shape, never by the number of threads, so results do not depend on it. Each
// calling thread has its own workers, which wait for its next call: first they spin, then they sleep. A call waits only
// for workers that have taken a piece of it, so that a worker that the system does not schedule delays nothing.
#pragma once

#include <cstdint>
#include <functional>

namespace troika::cpu {

// How many threads work on the calls of this thread, itself among them; 1 until it is set. They start with the next call, and
// where the system grants fewer, fewer work.
void set_threads(int threads);
int threads();

// body(i) for every i in [0, count), in any order, each once. Returns when all are done; throws what one of them threw. A
// call from inside a body runs on that body's thread alone.
void parallel_for(std::int64_t count, const std::function<void(std::int64_t)>& body);

// [0, total) in pieces of `piece`, the last may be shorter: body(begin, end).
void parallel_pieces(std::int64_t total, std::int64_t piece,
                     const std::function<void(std::int64_t begin, std::int64_t end)>& body);

}  // namespace troika::cpu
