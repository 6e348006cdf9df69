#include "data/loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "host/thread_limit.h"

namespace troika::data {

Loader::Loader(const Batches& batches, OfStep of_step, std::int64_t prefetch)
    : batches_(batches), of_step_(std::move(of_step)), prefetch_(static_cast<std::size_t>(std::max<std::int64_t>(1, prefetch))), step_(batches.rules().start_step) {
  thread_ = host::start_thread([this] { serve(); });
}

Loader::~Loader() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  room_.notify_all();
  if (thread_.joinable()) thread_.join();
}

TokenBatch Loader::again(std::int64_t step, int microbatch) const {
  const std::vector<shape::Range> of_step = batches_.of_step(step);
  if (microbatch < 0 || microbatch >= static_cast<int>(of_step.size()))
    throw base::BugError(fmt::format("microbatch {} of the {} of step {} was requested", microbatch, of_step.size(), step));
  return batches_.read(of_step[static_cast<std::size_t>(microbatch)]);
}

void Loader::serve() {
  try {
    for (std::int64_t step = batches_.rules().start_step;; ++step) {
      {
        std::unique_lock<std::mutex> lock(mutex_);
        room_.wait(lock, [&] { return stop_ || step <= step_ + static_cast<std::int64_t>(prefetch_); });
        if (stop_) return;
      }
      for (const int microbatch : of_step_(step)) {
        Ready one{step, microbatch, again(step, microbatch)};
        std::unique_lock<std::mutex> lock(mutex_);
        room_.wait(lock, [&] { return stop_ || ready_.size() < prefetch_; });
        if (stop_) return;
        ready_.push_back(std::move(one));
        filled_.notify_one();
      }
    }
  } catch (...) {
    const std::lock_guard<std::mutex> lock(mutex_);
    error_ = std::current_exception();
    filled_.notify_one();
  }
}

void Loader::begin_step(std::int64_t step) {
  const std::lock_guard<std::mutex> lock(mutex_);
  step_ = step;
  room_.notify_one();
}

TokenBatch Loader::next(std::int64_t step, int microbatch) {
  begin_step(step);
  std::unique_lock<std::mutex> lock(mutex_);
  if (ready_.empty() && !error_) {
    const double start = base::monotonic_seconds();
    filled_.wait(lock, [&] { return !ready_.empty() || error_; });
    waited_seconds_ += base::monotonic_seconds() - start;
  }
  if (ready_.empty()) std::rethrow_exception(error_);
  const Ready& front = ready_.front();
  if (front.step != step || front.microbatch != microbatch)
    throw base::BugError(fmt::format("the program loads microbatch {} of step {}, but microbatch {} of step {} is next",
                                     microbatch, step, front.microbatch, front.step));
  TokenBatch batch = std::move(ready_.front().batch);
  ready_.pop_front();
  room_.notify_one();
  return batch;
}

}  // namespace troika::data
