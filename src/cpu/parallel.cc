#include "cpu/parallel.h"

#include <omp.h>

#include <algorithm>
#include <exception>
#include <optional>

namespace troika::cpu {
namespace {

// A parallel region of one thread does not count as one for the libraries, so they are told.
class Alone {
 public:
  Alone() : threads_(omp_get_max_threads()) { omp_set_num_threads(1); }
  ~Alone() { omp_set_num_threads(threads_); }
  Alone(const Alone&) = delete;
  Alone& operator=(const Alone&) = delete;

 private:
  const int threads_;
};

}  // namespace

void parallel_for(std::int64_t count, const std::function<void(std::int64_t)>& body) {
  if (count == 1) {
    const Alone alone;
    return body(0);
  }
  std::exception_ptr failure;
#pragma omp parallel
  {
    std::optional<Alone> alone;
    if (omp_get_num_threads() == 1) alone.emplace();  // also where the system granted fewer than asked for
#pragma omp for schedule(dynamic)
    for (std::int64_t i = 0; i < count; ++i) {
      try {
        body(i);
      } catch (...) {
#pragma omp critical(troika_parallel_failure)
        if (failure == nullptr) failure = std::current_exception();
      }
    }
  }
  if (failure != nullptr) std::rethrow_exception(failure);
}

void parallel_pieces(std::int64_t total, std::int64_t piece,
                     const std::function<void(std::int64_t begin, std::int64_t end)>& body) {
  parallel_for((total + piece - 1) / piece,
               [&](std::int64_t i) { body(i * piece, std::min(i * piece + piece, total)); });
}

}  // namespace troika::cpu
