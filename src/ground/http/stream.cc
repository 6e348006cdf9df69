#include "http/stream.h"

#include <utility>

namespace troika::http {

void Stream::wake() const {
  if (wake_) wake_();
}

bool Stream::write(std::string_view bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (finished_ || left_) return false;
  if (waiting_.size() + bytes.size() > most_waiting_bytes_) {
    finished_ = left_ = true;
    waiting_.clear();
  } else {
    waiting_ += bytes;
  }
  wake();
  return !left_;
}

void Stream::finish() {
  const std::lock_guard<std::mutex> lock(mutex_);
  finished_ = true;
  wake();
}

bool Stream::open() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return !finished_ && !left_;
}

void Stream::on_news(std::function<void()> wake) {
  const std::lock_guard<std::mutex> lock(mutex_);
  wake_ = std::move(wake);
}

std::string Stream::take() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(waiting_, {});
}

bool Stream::finished() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return (finished_ || left_) && waiting_.empty();
}

void Stream::leave() {
  const std::lock_guard<std::mutex> lock(mutex_);
  left_ = true;
  waiting_.clear();
  wake_ = {};
}

}  // namespace troika::http
