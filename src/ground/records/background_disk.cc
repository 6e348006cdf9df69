#include "records/background_disk.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "base/error.h"
#include "host/thread_limit.h"

namespace troika::records {

static constexpr std::chrono::seconds last_wait{2};

// Shared with its thread, which may outlive the object.
struct BackgroundDisk::Impl {
  std::size_t most_waiting = 0;
  std::mutex mutex;  // guards what follows
  std::condition_variable changed;
  std::deque<std::function<void()>> waiting;
  bool working = false, started = false, ends = false;

  static void run(const std::shared_ptr<Impl>& self) {
    std::unique_lock<std::mutex> lock(self->mutex);
    for (;;) {
      self->changed.wait(lock, [&] { return self->ends || !self->waiting.empty(); });
      if (self->waiting.empty()) return;
      const std::function<void()> job = std::move(self->waiting.front());
      self->waiting.pop_front();
      self->working = true;
      lock.unlock();
      try {
        job();
      } catch (const base::Error&) {  // a disk that is full or fails ends nothing
      }
      lock.lock();
      self->working = false;
      self->changed.notify_all();
    }
  }
};

BackgroundDisk::BackgroundDisk(std::size_t most_waiting) : impl_(std::make_shared<Impl>()) {
  impl_->most_waiting = most_waiting;
}

void BackgroundDisk::post(std::function<void()> job) {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  if (impl_->waiting.size() >= impl_->most_waiting) return;
  impl_->waiting.push_back(std::move(job));
  if (!impl_->started) {
    try {
      host::start_thread([self = impl_] { Impl::run(self); }).detach();
    } catch (...) {
      impl_->waiting.clear();
      throw;
    }
    impl_->started = true;
  }
  impl_->changed.notify_all();
}

void BackgroundDisk::flush() {
  std::unique_lock<std::mutex> lock(impl_->mutex);
  impl_->changed.wait_for(lock, last_wait, [&] { return impl_->waiting.empty() && !impl_->working; });
}

BackgroundDisk::~BackgroundDisk() {
  flush();
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  impl_->ends = true;
  impl_->waiting.clear();
  impl_->changed.notify_all();
}

}  // namespace troika::records
