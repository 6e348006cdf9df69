#include "records/line_file.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <ctime>
#include <mutex>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/run_files.h"
#include "base/text.h"
#include "host/thread_limit.h"

namespace troika::records {

void LineWriter::append(const std::string& line) {
  waiting_.push_back(line + "\n");
  if (waiting_.size() > most_waiting_) waiting_.pop_front();
  try {
    base::make_directories(folder_);
    while (!waiting_.empty()) {
      base::append_in_run(folder_, name_, waiting_.front());
      waiting_.pop_front();
    }
  } catch (const base::DataError&) {  // they wait for the next try
  }
}

LineReader::News LineReader::read(std::int64_t most_bytes) {
  constexpr std::size_t longest_line = std::size_t{16} << 20;
  News news;
  const std::optional<base::RunFile> file = base::RunFile::open(path_);
  if (!file) return news;
  const std::int64_t size = file->facts().bytes;
  bool skips_a_part = false;  // of a line, at the front
  if (inode_ != file->facts().inode || size < offset_) {
    news.begun_anew = offset_ > 0;
    inode_ = file->facts().inode;
    offset_ = 0;
    rest_.clear();
    in_long_line_ = false;
    if (tail_bytes_ > 0 && size > tail_bytes_) {
      offset_ = size - tail_bytes_;
      skips_a_part = true;
    }
  }
  const std::int64_t end = std::min<std::int64_t>(size, offset_ + most_bytes);
  while (offset_ < end) {
    const std::string bytes = file->text(offset_, std::min<std::int64_t>(end - offset_, 1 << 20));
    if (bytes.empty()) break;
    offset_ += static_cast<std::int64_t>(bytes.size());
    rest_ += bytes;
    if (rest_.size() > longest_line && rest_.find('\n') == std::string::npos) {
      rest_.clear();
      in_long_line_ = true;
    }
  }
  if (skips_a_part || in_long_line_) {
    const std::size_t newline = rest_.find('\n');
    in_long_line_ = in_long_line_ && newline == std::string::npos;
    rest_.erase(0, newline == std::string::npos ? rest_.size() : newline + 1);
  }
  std::size_t begin = 0;
  for (std::size_t newline = rest_.find('\n'); newline != std::string::npos; newline = rest_.find('\n', begin)) {
    news.lines.push_back(rest_.substr(begin, newline - begin));
    begin = newline + 1;
  }
  rest_.erase(0, begin);
  return news;
}

std::string log_line(double wall_seconds, const std::string& text) {
  return fmt::format("{:%Y-%m-%d %H:%M:%S} {}", fmt::localtime(static_cast<std::time_t>(wall_seconds)),
                     base::join(base::split(base::trim(text), '\n'), "\n  "));
}

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
