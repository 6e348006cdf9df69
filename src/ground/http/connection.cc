#include "http/connection.h"

#include <exception>
#include <optional>
#include <utility>

namespace troika::http {

Connection::Connection(const Handler& handler, std::function<void()> wake, const RequestLimits& limits,
                       const Patience& patience, double now)
    : handler_(handler), wake_(std::move(wake)), limits_(limits), patience_(patience), parser_(limits), since_(now) {}

Connection::~Connection() {
  end_stream();
  leave_later();
}

void Connection::end_stream() {
  if (stream_ != nullptr) stream_->leave();
  stream_.reset();
}

void Connection::client_ends() {
  if (later_ != nullptr) later_->client_ends();
}

void Connection::leave_later() {
  if (later_ != nullptr) later_->leave();
  later_.reset();
}

void Connection::drop_answer() {
  out_.clear();
  out_begin_ = 0;
}

void Connection::put(std::string bytes, double now) {
  if (bytes.empty()) return;
  if (out_.empty()) since_ = now;
  out_ += bytes;
}

void Connection::refuse(int status, const std::string& why, double now) {
  Response response = refusal_text(status, why + "\n");
  if (status == 405) response.headers.push_back({"allow", "GET, POST"});
  over_ = true;
  put(head_of(response, Afterwards::close) + response.body, now);
}

void Connection::receive(std::string_view bytes, double now) {
  if (over_) return;  // of a client that has been refused, or listens to a stream
  in_ += bytes;
  proceed(now);
}

void Connection::receive_end(double now) {
  if (stream_ != nullptr) drop_answer();
  end_stream();
  over_ = true;
  since_ = now;
}

void Connection::proceed(double now) {
  while (!over_ && out_.empty() && later_ == nullptr && !in_.empty()) {
    const RequestParser::State before = parser_.state();
    if (!parser_.begun()) since_ = now;
    in_.erase(0, parser_.take(in_));
    if (parser_.state() == RequestParser::State::body && before != parser_.state()) since_ = now;
    if (parser_.state() == RequestParser::State::refused)
      return refuse(parser_.refused_with(), parser_.why_refused(), now);
    if (parser_.state() == RequestParser::State::complete) ask(now);
  }
}

void Connection::ask(double now) {
  Response response;
  try {
    response = handler_(parser_.request());
  } catch (const std::exception&) {
    response = refusal_text(500, "this request could not be answered\n");
  }
  afterwards_ = parser_.afterwards();
  parser_ = RequestParser(limits_);
  if (response.later == nullptr) return answer(std::move(response), now);
  later_ = std::move(response.later);
  later_->on_news(wake_);
  feed(now);
}

void Connection::answer(Response response, double now) {
  over_ = over_ || afterwards_ == Afterwards::close || response.stream != nullptr;
  put(head_of(response, over_ ? Afterwards::close : Afterwards::keep) + response.body, now);
  stream_ = std::move(response.stream);
  if (stream_ == nullptr) return;
  in_.clear();
  stream_->on_news(wake_);
  feed(now);
}

void Connection::feed(double now) {
  if (later_ != nullptr) {
    std::optional<Response> given = later_->take();
    if (!given) return;
    later_.reset();
    answer(std::move(*given), now);
  }
  if (stream_ == nullptr) return;
  if (out_.empty()) put(stream_->take(), now);  // what the client does not take waits in the stream, which has a limit
  if (stream_->finished()) end_stream();
}

void Connection::sent(std::size_t count, double now) {
  out_begin_ += count;
  if (out_begin_ < out_.size()) return;
  drop_answer();
  since_ = now;
  feed(now);
  proceed(now);
}

void Connection::expire(double now) {
  const double waited = now - since_;
  if (!out_.empty()) {
    if (waited < patience_.answer) return;
    end_stream();
    drop_answer();
    over_ = true;
  } else if (later_ != nullptr) {
    since_ = now;  // it is this side that takes its time
  } else if (stream_ == nullptr && !over_ && parser_.begun()) {
    if (waited >= patience_.request) refuse(408, "the request did not come to its end in time", now);
  } else if (stream_ == nullptr && waited >= patience_.idle) {
    over_ = true;
  }
}

}  // namespace troika::http
