#include "comm/threads_channel_test_support.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/say.h"
#include "comm/failure.h"
#include "tensor/tensor.h"

namespace troika::comm {
namespace {
using Clock = std::chrono::steady_clock;

struct Message {
  Message(const tensor::Tensor& tensor, Direction direction) : copy(tensor, direction) {}
  HostCopy copy;
  Operation operation;
  int owner = 0;
  bool done = false;
  Clock::time_point ready_at;  // when a pretended slow link has carried it; valid when done
  base::Text error;
};
using MessagePtr = std::shared_ptr<Message>;

// The state shared by the channels of one group.
class Hub {
 public:
  Hub(int size, std::string name, double deadline_seconds, LinkRate rate)
      : name_(std::move(name)),
        deadline_seconds_(deadline_seconds),
        rate_(rate),
        changed_(static_cast<std::size_t>(size)),
        ended_(static_cast<std::size_t>(size)),
        left_(static_cast<std::size_t>(size)) {}

  int size() const { return static_cast<int>(ended_.size()); }
  const std::string& name() const { return name_; }

  void post(const MessagePtr& message);
  void wait(const MessagePtr& message);
  void drop(const MessagePtr& message);  // forgets one that nobody has matched
  void end(int rank, const base::Text& reason);
  void leave(int rank, const base::Text& reason);

 private:
  struct Lane {  // of one (from, to, tag): at most one of the two queues is not empty
    std::deque<MessagePtr> sends, recvs;
  };
  using Key = std::tuple<int, int, std::uint32_t>;
  static Key key_of(const Message& message);
  void move_data(std::unique_lock<std::mutex>& lock, const MessagePtr& send, const MessagePtr& recv);
  Clock::time_point carry(const Message& send);
  void leave_locked(int rank, const base::Text& reason);
  void notify(int rank) { changed_[static_cast<std::size_t>(rank)].notify_all(); }
  [[noreturn]] void fail(const Message& message, const base::Text& cause);

  const std::string name_;
  const double deadline_seconds_;
  const LinkRate rate_;
  std::mutex mutex_;
  std::vector<std::condition_variable> changed_;  // by rank: something that its waits look at; others sleep on
  std::map<Key, Lane> lanes_;
  std::map<std::pair<int, int>, Clock::time_point> link_free_at_;
  std::vector<base::Text> ended_;  // by rank: why its waits end; empty while they do not
  std::vector<base::Text> left_;   // by rank: why its peers cannot reach it; empty while they can
};

Hub::Key Hub::key_of(const Message& message) {
  const Operation& operation = message.operation;
  return operation.direction == Direction::send ? Key{message.owner, operation.peer, operation.tag}
                                                : Key{operation.peer, message.owner, operation.tag};
}

void Hub::post(const MessagePtr& message) {
  std::unique_lock<std::mutex> lock(mutex_);
  const base::Text& left = left_[static_cast<std::size_t>(message->operation.peer)];
  Lane& lane = lanes_[key_of(*message)];
  const bool sends = message->operation.direction == Direction::send;
  auto& mine = sends ? lane.sends : lane.recvs;
  auto& theirs = sends ? lane.recvs : lane.sends;
  if (theirs.empty() && !left.empty()) {
    message->error = left;
  } else if (theirs.empty()) {
    mine.push_back(message);
  } else {
    const MessagePtr other = theirs.front();  // let go under the lock: its owner may free the tensor when it wakes
    theirs.pop_front();
    move_data(lock, sends ? message : other, sends ? other : message);
  }
}

void Hub::move_data(std::unique_lock<std::mutex>& lock, const MessagePtr& send, const MessagePtr& recv) {
  if (send->operation.bytes != recv->operation.bytes) {
    send->error = recv->error = base::say("rank {} sends {} bytes but rank {} receives {}", send->owner,
                                          send->operation.bytes, recv->owner, recv->operation.bytes);
  } else {
    const Clock::time_point ready_at = carry(*send);
    lock.unlock();
    if (send->operation.bytes > 0) {
      std::memcpy(recv->copy.local().data(), send->copy.local().data(),
                  static_cast<std::size_t>(send->operation.bytes));
    }
    lock.lock();
    send->ready_at = recv->ready_at = ready_at;
    send->done = recv->done = true;
  }
  notify(send->owner);
  notify(recv->owner);
}

Clock::time_point Hub::carry(const Message& send) {
  const auto now = Clock::now();
  if (rate_.bytes_per_second <= 0 && rate_.latency_seconds <= 0) return now;
  const auto span = [](double seconds) {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  };
  const double busy =
      rate_.bytes_per_second > 0 ? static_cast<double>(send.operation.bytes) / rate_.bytes_per_second : 0;
  auto& free_at = link_free_at_[{send.owner, send.operation.peer}];
  free_at = std::max(free_at, now) + span(busy);
  return free_at + span(rate_.latency_seconds);
}

void Hub::fail(const Message& message, const base::Text& cause) {
  const auto owner = static_cast<std::size_t>(message.owner);
  const bool first = ended_[owner].empty();
  if (first) ended_[owner] = after_failure(cause);
  leave_locked(message.owner, base::say("rank {} has given up: {}", message.owner, cause));
  throw base::PeerError(failure_text(message.operation, name_, first ? cause : ended_[owner]));
}

void Hub::wait(const MessagePtr& message) {
  std::unique_lock<std::mutex> lock(mutex_);
  const base::Text& ended = ended_[static_cast<std::size_t>(message->owner)];
  const auto settled = [&] { return !ended.empty() || !message->error.empty() || message->done; };
  const auto limit = std::chrono::duration<double>(deadline_seconds_);
  std::condition_variable& changed = changed_[static_cast<std::size_t>(message->owner)];
  const bool in_time = changed.wait_for(lock, limit, settled);
  if (message->done && message->ready_at > Clock::now())
    changed.wait_until(lock, message->ready_at, [&] { return !ended.empty(); });
  if (!ended.empty()) fail(*message, ended);
  if (!message->error.empty()) fail(*message, message->error);
  if (!in_time) fail(*message, base::say("the peer did not take it within {:g} s", deadline_seconds_));
}

void Hub::drop(const MessagePtr& message) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto lane = lanes_.find(key_of(*message));
  if (lane == lanes_.end()) return;
  for (auto* queue : {&lane->second.sends, &lane->second.recvs}) {
    queue->erase(std::remove(queue->begin(), queue->end(), message), queue->end());
  }
}

void Hub::end(int rank, const base::Text& reason) {
  const std::lock_guard<std::mutex> lock(mutex_);
  base::Text& ended = ended_[static_cast<std::size_t>(rank)];
  if (ended.empty()) ended = reason;
  notify(rank);
}

void Hub::leave(int rank, const base::Text& reason) {
  const std::lock_guard<std::mutex> lock(mutex_);
  leave_locked(rank, reason);
}

void Hub::leave_locked(int rank, const base::Text& reason) {
  base::Text& left = left_[static_cast<std::size_t>(rank)];
  if (left.empty()) left = reason;
  for (auto& [key, lane] : lanes_) {
    if (std::get<0>(key) != rank && std::get<1>(key) != rank) continue;
    for (auto* queue : {&lane.sends, &lane.recvs}) {
      for (const MessagePtr& message : *queue) {
        if (message->owner != rank) message->error = left;
      }
      queue->clear();
    }
  }
  for (auto& changed : changed_) changed.notify_all();
}

class ThreadTransfer : public Transfer::Body {
 public:
  ThreadTransfer(std::shared_ptr<Hub> hub, MessagePtr message) : hub_(std::move(hub)), message_(std::move(message)) {}
  ~ThreadTransfer() override {
    if (message_ == nullptr) return;
    if (std::uncaught_exceptions() > 0) {
      hub_->drop(message_);
      return;
    }
    try {
      wait();
    } catch (const base::Error&) {  // the next wait on this channel tells
    }
  }
  void wait() override {
    const MessagePtr message = std::move(message_);
    hub_->wait(message);
    message->copy.arrived();
  }

 private:
  std::shared_ptr<Hub> hub_;
  MessagePtr message_;
};

class ThreadChannel : public Channel {
 public:
  ThreadChannel(std::shared_ptr<Hub> hub, int rank) : hub_(std::move(hub)), rank_(rank) {}
  ~ThreadChannel() override {
    hub_->end(rank_, channel_closed());
    hub_->leave(rank_, base::say("rank {} has left", rank_));
  }

  int rank() const override { return rank_; }
  int size() const override { return hub_->size(); }
  const std::string& name() const override { return hub_->name(); }
  Transfer send(const tensor::Tensor& tensor, int to, std::uint32_t tag) override {
    return post(Direction::send, tensor, to, tag);
  }
  Transfer recv(const tensor::Tensor& tensor, int from, std::uint32_t tag) override {
    return post(Direction::recv, tensor, from, tag);
  }
  void abort(const base::Text& reason) override { hub_->end(rank_, reason); }

 private:
  Transfer post(Direction direction, const tensor::Tensor& tensor, int peer, std::uint32_t tag) {
    check_operation(tensor, rank_, size(), peer, tag);
    auto message = std::make_shared<Message>(tensor, direction);
    message->operation = {direction, tensor.bytes(), peer, tag};
    message->owner = rank_;
    hub_->post(message);
    return Transfer(std::make_unique<ThreadTransfer>(hub_, std::move(message)));
  }

  std::shared_ptr<Hub> hub_;
  int rank_;
};

}  // namespace

std::vector<std::unique_ptr<Channel>> make_thread_channels(int size, const std::string& name, double deadline_seconds,
                                                           LinkRate rate) {
  const auto hub = std::make_shared<Hub>(size, name, deadline_seconds, rate);
  std::vector<std::unique_ptr<Channel>> channels;
  for (int rank = 0; rank < size; ++rank) channels.push_back(std::make_unique<ThreadChannel>(hub, rank));
  return channels;
}

}  // namespace troika::comm
