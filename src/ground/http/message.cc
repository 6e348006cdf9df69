#include "http/message.h"

#include <fmt/format.h>

#include <utility>

namespace troika::http {

std::string_view Request::header(std::string_view name) const {
  for (const Header& header : headers)
    if (header.name == name) return header.value;
  return "";
}

Response plain_text(int status, std::string text) {
  return {status, {{"content-type", "text/plain; charset=utf-8"}}, std::move(text)};
}

Response refusal_text(int status, std::string text) {
  Response response = plain_text(status, std::move(text));
  response.headers.insert(response.headers.end(),
                          {{"content-security-policy", "default-src 'none'; frame-ancestors 'none'"},
                           {"x-content-type-options", "nosniff"},
                           {"referrer-policy", "no-referrer"},
                           {"cross-origin-opener-policy", "same-origin"}});
  return response;
}

std::string_view reason_of(int status) {
  static constexpr std::pair<int, std::string_view> reasons[] = {
      {200, "OK"},
      {201, "Created"},
      {202, "Accepted"},
      {204, "No Content"},
      {303, "See Other"},
      {304, "Not Modified"},
      {400, "Bad Request"},
      {401, "Unauthorized"},
      {403, "Forbidden"},
      {404, "Not Found"},
      {405, "Method Not Allowed"},
      {408, "Request Timeout"},
      {409, "Conflict"},
      {413, "Content Too Large"},
      {415, "Unsupported Media Type"},
      {417, "Expectation Failed"},
      {421, "Misdirected Request"},
      {431, "Request Header Fields Too Large"},
      {500, "Internal Server Error"},
      {501, "Not Implemented"},
      {503, "Service Unavailable"},
      {505, "HTTP Version Not Supported"},
  };
  for (const auto& [known, reason] : reasons)
    if (known == status) return reason;
  return "";
}

std::string head_of(const Response& response, Afterwards afterwards) {
  std::string head = fmt::format("HTTP/1.1 {} {}\r\n", response.status, reason_of(response.status));
  for (const Header& header : response.headers) head += fmt::format("{}: {}\r\n", header.name, header.value);
  const bool has_no_body = response.status == 204 || response.status == 304;
  if (response.stream == nullptr && !has_no_body) head += fmt::format("content-length: {}\r\n", response.body.size());
  if (response.stream != nullptr || afterwards == Afterwards::close) head += "connection: close\r\n";
  return head + "\r\n";
}

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
