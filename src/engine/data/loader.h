// Brings the microbatches of one rank into memory before the step needs them.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "data/batches.h"

namespace troika::data {

// A thread reads ahead. next() and the destructor belong to one thread. `batches` must outlive the loader.
class Loader {
 public:
  // One of a step's microbatches, by its number there, and its samples.
  struct Wanted {
    int microbatch = 0;
    shape::Range samples;
  };
  // Those of a step that this rank loads, in the order of its program. Called by the reading thread, for the steps from the first of
  // `batches` on.
  using OfStep = std::function<std::vector<Wanted>(std::int64_t step)>;
  // `prefetch`: microbatches read ahead; less than 1 counts as 1.
  Loader(const Batches& batches, OfStep of_step, std::int64_t prefetch);
  ~Loader();

  // The step that the rank is at, which bounds how far ahead those are read of which it has no microbatch.
  void begin_step(std::int64_t step);

  // The next microbatch in the order of the steps, which must be this one (BugError). Waits until it is there. An error
  // of the reading thread is thrown here, once the batches read before it are handed out, and again by every later
  // call.
  TokenBatch next(std::int64_t step, int microbatch);

  // Time next() has spent waiting so far.
  double waited_seconds() const { return waited_seconds_; }

 private:
  struct Ready {
    std::int64_t step = 0;
    int microbatch = 0;
    TokenBatch batch;
  };
  void serve();

  const Batches& batches_;
  const OfStep of_step_;
  const std::size_t prefetch_;
  double waited_seconds_ = 0;

  std::mutex mutex_;  // guards what follows
  std::condition_variable room_, filled_;
  std::deque<Ready> ready_;
  std::exception_ptr error_;
  std::int64_t step_;  // of begin_step
  bool stop_ = false;

  std::thread thread_;
};

}  // namespace troika::data
