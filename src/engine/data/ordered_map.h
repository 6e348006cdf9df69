// A pipeline over threads whose output does not depend on how many there are.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "host/thread_limit.h"

namespace troika::data {

// Threads for `wanted` workers; 0 means all cores.
inline int worker_count(std::int64_t wanted) {
  constexpr std::int64_t most = 256;
  const std::int64_t cores = std::max<std::int64_t>(1, std::thread::hardware_concurrency());
  return static_cast<int>(std::min(wanted > 0 ? wanted : cores, most));
}

// Takes items from `produce` until it gives none, runs `work` on them on `workers` threads, and hands the results to
// `consume` in the order of the items. `produce` and `consume` run on the calling thread; at most 4 x workers items are
// under way. What any of the three throws is thrown here, and of several errors of `work` the one of the earliest item;
// all threads have ended then.
template <class Item, class Result>
class OrderedMap {
 public:
  using Produce = std::function<std::optional<Item>()>;
  using Work = std::function<Result(Item&)>;
  using Consume = std::function<void(Result&&)>;

  static void run(int workers, const Produce& produce, const Work& work, const Consume& consume) {
    OrderedMap map(workers, work);
    const std::size_t window = 4 * static_cast<std::size_t>(workers);
    bool more = true;
    while (more || !map.under_way_.empty()) {
      while (more && map.under_way_.size() < window) {
        std::optional<Item> item = produce();
        more = item.has_value();
        if (more) map.submit(std::move(*item));
      }
      if (!map.under_way_.empty()) consume(map.take_first());
    }
  }

 private:
  struct Job {
    Item item;
    std::optional<Result> result;
    std::exception_ptr error;
    bool done = false;
  };

  OrderedMap(int workers, const Work& work) : work_(work) {
    try {
      for (int i = 0; i < workers; ++i) threads_.push_back(host::start_thread([this] { serve(); }));
    } catch (const base::ConfigError&) {  // fewer do the same in longer time
      if (threads_.empty()) throw;
    }
  }

  ~OrderedMap() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stop_ = true;
    }
    waiting_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  void submit(Item item) {
    auto job = std::make_shared<Job>();
    job->item = std::move(item);
    under_way_.push_back(job);
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      queue_.push_back(std::move(job));
    }
    waiting_.notify_one();
  }

  Result take_first() {
    const std::shared_ptr<Job> job = under_way_.front();
    under_way_.pop_front();
    std::unique_lock<std::mutex> lock(mutex_);
    finished_.wait(lock, [&] { return job->done; });
    if (job->error) std::rethrow_exception(job->error);
    return std::move(*job->result);
  }

  void serve() {
    for (;;) {
      std::unique_lock<std::mutex> lock(mutex_);
      waiting_.wait(lock, [&] { return stop_ || !queue_.empty(); });
      if (stop_) return;
      const std::shared_ptr<Job> job = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      perform(*job);
      lock.lock();
      job->done = true;
      finished_.notify_one();
    }
  }

  void perform(Job& job) {
    try {
      job.result = work_(job.item);
    } catch (...) {
      job.error = std::current_exception();
    }
    job.item = Item();
  }

  const Work& work_;
  std::deque<std::shared_ptr<Job>> under_way_;  // of the calling thread only
  std::mutex mutex_;                            // guards what follows, and `done` of the jobs
  std::condition_variable waiting_, finished_;
  std::deque<std::shared_ptr<Job>> queue_;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace troika::data
