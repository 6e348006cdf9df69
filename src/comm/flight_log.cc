#include "comm/flight_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "base/clock.h"
#include "base/units.h"

namespace troika::comm {

FlightLog::FlightLog(std::size_t capacity) : entries_(std::max<std::size_t>(capacity, 1)) {}

std::uint64_t FlightLog::begin(const std::string& group, const char* what, int peer, std::uint32_t tag,
                               std::int64_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  entries_[count_ % entries_.size()] = {base::monotonic_seconds(), group, what, peer, tag, bytes, State::posted, 0};
  return count_++;
}

void FlightLog::end(std::uint64_t number, State state) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (number + entries_.size() < count_) return;  // overwritten meanwhile
  Entry& entry = entries_[number % entries_.size()];
  entry.state = state;
  entry.ended_at = base::monotonic_seconds();
}

std::string FlightLog::report(int rank) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const double now = base::monotonic_seconds();
  std::string text = fmt::format("last operations of rank {}:", rank);
  if (count_ == 0) text += " none";
  for (std::uint64_t i = count_ - std::min<std::uint64_t>(count_, entries_.size()); i < count_; ++i) {
    const Entry& entry = entries_[i % entries_.size()];
    const std::string end = entry.state == State::posted
                                ? "not done"
                                : fmt::format("{} after {}", entry.state == State::done ? "done" : "FAILED",
                                              base::format_duration(entry.ended_at - entry.posted_at));
    text += fmt::format("\n  #{} {} ago  {} {} {} tag {:#x} {}: {}", i, base::format_duration(now - entry.posted_at),
                        entry.group, entry.what, entry.peer, entry.tag, base::format_bytes(entry.bytes), end);
  }
  return text;
}

namespace {

class LoggedTransfer : public Transfer::Body {
 public:
  LoggedTransfer(Transfer inner, std::shared_ptr<FlightLog> log, std::uint64_t number)
      : inner_(std::move(inner)), log_(std::move(log)), number_(number) {}
  ~LoggedTransfer() override {
    if (!inner_.pending()) return;
    if (std::uncaught_exceptions() > 0) return;  // the inner transfer is dropped
    try {
      wait();
    } catch (const std::exception&) {  // logged; the next wait on this channel tells
    }
  }
  void wait() override {
    try {
      inner_.wait();
    } catch (...) {
      log_->end(number_, FlightLog::State::failed);
      throw;
    }
    log_->end(number_, FlightLog::State::done);
  }

 private:
  Transfer inner_;
  std::shared_ptr<FlightLog> log_;
  std::uint64_t number_;
};

class LoggedChannel : public Channel {
 public:
  LoggedChannel(std::unique_ptr<Channel> inner, std::shared_ptr<FlightLog> log)
      : inner_(std::move(inner)), log_(std::move(log)) {}

  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  const std::string& name() const override { return inner_->name(); }
  Transfer send(const at::Tensor& tensor, int to, std::uint32_t tag) override {
    const auto number = log_->begin(name(), "send to", to, tag, static_cast<std::int64_t>(tensor.nbytes()));
    return Transfer(std::make_unique<LoggedTransfer>(inner_->send(tensor, to, tag), log_, number));
  }
  Transfer recv(const at::Tensor& tensor, int from, std::uint32_t tag) override {
    const auto number = log_->begin(name(), "recv from", from, tag, static_cast<std::int64_t>(tensor.nbytes()));
    return Transfer(std::make_unique<LoggedTransfer>(inner_->recv(tensor, from, tag), log_, number));
  }
  std::vector<Transfer> exchange(const std::vector<Message>& in, const std::vector<Message>& out) override {
    std::vector<Transfer> transfers = inner_->exchange(in, out);
    for (std::size_t i = 0; i < transfers.size(); ++i) {
      const bool receives = i < in.size();
      const Message& message = receives ? in[i] : out[i - in.size()];
      const auto number = log_->begin(name(), receives ? "recv from" : "send to", message.peer, message.tag,
                                      static_cast<std::int64_t>(message.tensor.nbytes()));
      transfers[i] = Transfer(std::make_unique<LoggedTransfer>(std::move(transfers[i]), log_, number));
    }
    return transfers;
  }
  void check() override { inner_->check(); }
  void abort(const std::string& reason) override { inner_->abort(reason); }

 private:
  std::unique_ptr<Channel> inner_;
  std::shared_ptr<FlightLog> log_;
};

}  // namespace

std::unique_ptr<Channel> logged(std::unique_ptr<Channel> inner, std::shared_ptr<FlightLog> log) {
  return std::make_unique<LoggedChannel>(std::move(inner), std::move(log));
}

}  // namespace troika::comm
