// Brings the microbatches of one rank into memory before the step needs them.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "data/samples.h"

namespace troika::data {

// One microbatch, rows one after the other: element (b, t) at b * length + t.
struct TokenBatch {
  std::int64_t step = 0;
  int microbatch = 0;                         // global index within the step
  std::int64_t first_sample = 0;              // global sample index of row 0
  std::int64_t rows = 0;                      // B
  std::int64_t length = 0;                    // T
  std::vector<std::int32_t> inputs;           // [B*T]
  std::vector<std::int32_t> targets;          // [B*T], the token after each input; ignore_index: no loss there
  std::vector<std::int64_t> document_starts;  // elements, not in column 0, at which a document begins; ascending
  shape::Documents documents = shape::Documents::joined;
};

// Reads the samples with these numbers into rows; rows beyond them get input 0 and no loss.
void fill_batch(const Samples& samples, const std::vector<std::uint64_t>& numbers, std::int64_t rows,
                TokenBatch* batch);

// The rows that one rank loads. Row b of microbatch m of step s has the global sample index
// start_sample + (s - start_step) * global_batch + m * micro + b.
struct LoaderPlan {
  std::int64_t global_batch = 1;  // rows per step, all ranks
  std::int64_t micro = 1;         // rows per microbatch
  std::vector<int> microbatches;  // of this rank, in the order its program loads them
  std::int64_t start_step = 0;
  std::uint64_t start_sample = 0;  // start_step * global_batch unless the batch size was changed on the way
  std::int64_t prefetch = 4;       // microbatches read ahead; less than 1 counts as 1
};

// A thread reads ahead. next() and the destructor belong to one thread. `samples` must outlive the loader.
class Loader {
 public:
  Loader(const Samples& samples, const Sampler& sampler, LoaderPlan plan);
  ~Loader();

  // The next microbatch in the order of the plan, which must be this one (BugError). Waits until it is there. An error
  // of the reading thread is thrown here, once the batches read before it are handed out, and again by every later
  // call.
  TokenBatch next(std::int64_t step, int microbatch);

  // Any microbatch of a step from the plan's first on, read once more, in the calling thread.
  TokenBatch again(std::int64_t step, int microbatch) const { return load(step, microbatch); }

  // Time next() has spent waiting so far.
  double waited_seconds() const { return waited_seconds_; }

 private:
  void serve();
  TokenBatch load(std::int64_t step, int microbatch) const;

  const Samples& samples_;
  const Sampler sampler_;
  const LoaderPlan plan_;
  double waited_seconds_ = 0;

  std::mutex mutex_;  // guards what follows
  std::condition_variable room_, filled_;
  std::deque<TokenBatch> ready_;
  std::exception_ptr error_;
  bool stop_ = false;

  std::thread thread_;
};

}  // namespace troika::data
