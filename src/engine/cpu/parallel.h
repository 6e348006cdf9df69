// The threads of operations. Work is cut by shape, never by the number of threads, so results do not depend on it. Each
// calling thread has its own workers, which wait for its next call: first they spin, then they sleep. A call waits only
// for workers that have taken a piece of it, so that a worker that the system does not schedule delays nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "cpu/arrays.h"

#ifdef TROIKA_WITH_OPENMP
// The functions of libgomp that control the threads of Debian's oneDNN. Declared here, so that a compiler with another OpenMP, or with
// none, asks the same library.
extern "C" {
void omp_set_num_threads(int threads);
int omp_get_num_places();
int omp_get_place_num_procs(int place);
void omp_get_place_proc_ids(int place, int* numbers);
}
#endif

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

// The same for work that is bound by reading memory: a thread takes pieces that follow each other, so that it reads one
// stream, and once it has none left those of the others.
void parallel_streams(std::int64_t total, std::int64_t piece,
                      const std::function<void(std::int64_t begin, std::int64_t end)>& body);

// Sums over rows in one order for every number of threads: blocks of rows, cut by shape, add up partial sums in fp32;
// these are added in the order of the blocks in double (row_sums.cc).

// Rows in one piece of work, from the elements of a row.
std::int64_t rows_per_block(std::int64_t row_elements);

// Blocks of block_rows or more. body(begin, end, partial) adds rows [begin, end) to the `width` values of partial, which are 0 before.
// Blocks run in parallel. Returns the `width` sums.
std::vector<float> sum_over_rows(std::int64_t M, std::int64_t block_rows, std::int64_t width,
                                 const std::function<void(std::int64_t begin, std::int64_t end, float* partial)>& body);

// sum[j] = sum over i of x[i * stride + j], of M rows of D. In pieces of columns.
void column_sums(std::int64_t M, std::int64_t D, const void* x, Dtype dtype, std::int64_t stride, float* sum);

}  // namespace troika::cpu
