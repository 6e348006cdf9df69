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

void Loader::serve() {
  try {
    for (std::int64_t step = batches_.rules().start_step;; ++step) {
      {
        std::unique_lock<std::mutex> lock(mutex_);
        room_.wait(lock, [&] { return stop_ || step <= step_ + static_cast<std::int64_t>(prefetch_); });
        if (stop_) return;
      }
      for (const Wanted& wanted : of_step_(step)) {
        Ready one{step, wanted.microbatch, batches_.read(wanted.samples)};
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
