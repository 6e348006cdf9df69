#include "serve/request_pool.h"

#include <deque>
#include <thread>
#include <utility>

namespace troika::serve {

struct RequestPool::Shared {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> waiting;
  int running = threads;  // threads that have not ended
  bool ends = false;

  void work() {
    std::unique_lock<std::mutex> lock(mutex);
    for (;;) {
      changed.wait(lock, [&] { return ends || !waiting.empty(); });
      if (ends) break;
      std::function<void()> job = std::move(waiting.front());
      waiting.pop_front();
      lock.unlock();
      job();
      job = nullptr;
      lock.lock();
    }
    --running;
    changed.notify_all();
  }
};

RequestPool::RequestPool(double patience_seconds) : patience_seconds_(patience_seconds), shared_(std::make_shared<Shared>()) {
  for (int i = 0; i < threads; ++i) std::thread([shared = shared_] { shared->work(); }).detach();
}

RequestPool::~RequestPool() { end(); }

bool RequestPool::end() {
  std::unique_lock<std::mutex> lock(shared_->mutex);
  shared_->ends = true;
  shared_->waiting.clear();
  shared_->changed.notify_all();
  return shared_->changed.wait_for(lock, std::chrono::duration<double>(patience_seconds_),
                                   [&] { return shared_->running == 0; });
}

bool RequestPool::post(std::function<void()> job) {
  const std::lock_guard<std::mutex> lock(shared_->mutex);
  if (shared_->ends || shared_->waiting.size() >= most_waiting) return false;
  shared_->waiting.push_back(std::move(job));
  shared_->changed.notify_one();
  return true;
}

}  // namespace troika::serve
