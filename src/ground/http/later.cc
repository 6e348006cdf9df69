#include "http/later.h"

#include <utility>

#include "http/message.h"

namespace troika::http {

Later::Later() = default;
Later::~Later() = default;

void Later::give(Response response) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (answered_) return;
  answered_ = true;
  if (left_) return;
  if (response.later != nullptr) response = refusal_text(500, "this request could not be answered\n");
  given_ = std::make_unique<Response>(std::move(response));
  if (wake_) wake_();
}

bool Later::wanted() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return !left_;
}

bool Later::client_has_ended() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return client_has_ended_;
}

void Later::client_ends() {
  const std::lock_guard<std::mutex> lock(mutex_);
  client_has_ended_ = true;
}

void Later::on_news(std::function<void()> wake) {
  const std::lock_guard<std::mutex> lock(mutex_);
  wake_ = std::move(wake);
}

std::optional<Response> Later::take() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (given_ == nullptr) return std::nullopt;
  return std::move(*std::exchange(given_, nullptr));
}

void Later::leave() {
  const std::lock_guard<std::mutex> lock(mutex_);
  left_ = true;
  wake_ = {};
  given_.reset();
}

}  // namespace troika::http
