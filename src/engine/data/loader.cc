#include "data/loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "host/thread_limit.h"

namespace troika::data {

void fill_batch(const Samples& samples, const std::vector<std::uint64_t>& numbers, std::int64_t rows,
                TokenBatch* batch) {
  const std::int64_t length = samples.seq_len();
  const auto count = static_cast<std::int64_t>(numbers.size());
  if (count > rows) throw base::BugError(fmt::format("{} samples do not fit into {} rows", count, rows));
  batch->rows = rows;
  batch->length = length;
  batch->inputs.assign(static_cast<std::size_t>(rows * length), 0);
  batch->targets.assign(static_cast<std::size_t>(rows * length), ignore_index);
  batch->document_starts.clear();
  batch->documents = samples.documents();
  for (std::int64_t row = 0; row < count; ++row) {
    const auto sample = static_cast<std::int64_t>(numbers[static_cast<std::size_t>(row)]);
    samples.read(sample, batch->inputs.data() + row * length, batch->targets.data() + row * length);
    for (const std::int64_t position : samples.document_starts(sample))
      batch->document_starts.push_back(row * length + position);
  }
}

Loader::Loader(const Samples& samples, const Sampler& sampler, LoaderPlan plan)
    : samples_(samples), sampler_(sampler), plan_(std::move(plan)) {
  for (const int microbatch : plan_.microbatches) {
    if (microbatch < 0 || (microbatch + 1) * plan_.micro > plan_.global_batch)
      throw base::BugError(fmt::format("microbatch {} of {} rows is not within the global batch of {}", microbatch,
                                       plan_.micro, plan_.global_batch));
  }
  if (!plan_.microbatches.empty()) thread_ = host::start_thread([this] { serve(); });
}

Loader::~Loader() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  room_.notify_all();
  if (thread_.joinable()) thread_.join();
}

TokenBatch Loader::load(std::int64_t step, int microbatch) const {
  TokenBatch batch;
  batch.step = step;
  batch.microbatch = microbatch;
  const std::uint64_t first = plan_.start_sample +
                              static_cast<std::uint64_t>((step - plan_.start_step) * plan_.global_batch) +
                              static_cast<std::uint64_t>(microbatch * plan_.micro);
  batch.first_sample = static_cast<std::int64_t>(first);
  std::vector<std::uint64_t> numbers;
  for (std::int64_t row = 0; row < plan_.micro; ++row)
    numbers.push_back(sampler_.sample_at(first + static_cast<std::uint64_t>(row)));
  fill_batch(samples_, numbers, plan_.micro, &batch);
  return batch;
}

void Loader::serve() {
  const auto limit = static_cast<std::size_t>(std::max<std::int64_t>(1, plan_.prefetch));
  try {
    for (std::int64_t step = plan_.start_step;; ++step) {
      for (const int microbatch : plan_.microbatches) {
        TokenBatch batch = load(step, microbatch);
        std::unique_lock<std::mutex> lock(mutex_);
        room_.wait(lock, [&] { return stop_ || ready_.size() < limit; });
        if (stop_) return;
        ready_.push_back(std::move(batch));
        filled_.notify_one();
      }
    }
  } catch (...) {
    const std::lock_guard<std::mutex> lock(mutex_);
    error_ = std::current_exception();
    filled_.notify_one();
  }
}

TokenBatch Loader::next(std::int64_t step, int microbatch) {
  if (plan_.microbatches.empty()) throw base::BugError("a batch was requested of a loader whose rank loads none");
  std::unique_lock<std::mutex> lock(mutex_);
  if (ready_.empty() && !error_) {
    const double start = base::monotonic_seconds();
    filled_.wait(lock, [&] { return !ready_.empty() || error_; });
    waited_seconds_ += base::monotonic_seconds() - start;
  }
  if (ready_.empty()) std::rethrow_exception(error_);
  const TokenBatch& front = ready_.front();
  if (front.step != step || front.microbatch != microbatch)
    throw base::BugError(fmt::format("the program loads microbatch {} of step {}, but microbatch {} of step {} is next",
                                     microbatch, step, front.microbatch, front.step));
  TokenBatch batch = std::move(ready_.front());
  ready_.pop_front();
  room_.notify_one();
  return batch;
}

}  // namespace troika::data
