#include "comm/rank_channels.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/say.h"
#include "base/units.h"
#include "tensor/tensor.h"

namespace troika::comm {
namespace {

struct Both {
  std::unique_ptr<Channel> near, far;
  void abort(const base::Text& reason) {
    near->abort(reason);
    far->abort(reason);
  }
};

class OfTwo : public Channel {
 public:
  OfTwo(std::unique_ptr<Channel> near, std::unique_ptr<Channel> far)
      : both_(std::make_shared<Both>(Both{std::move(near), std::move(far)})) {
    if (rank() != both_->far->rank() || size() != both_->far->size())
      throw base::BugError("channels of two groups, '" + name() + "' and '" + both_->far->name() + "'");
  }
  int rank() const override { return both_->near->rank(); }
  int size() const override { return both_->near->size(); }
  const std::string& name() const override { return both_->near->name(); }
  void check() override {
    both_->near->check();
    both_->far->check();
  }
  void abort(const base::Text& reason) override { both_->abort(reason); }

 protected:
  const std::shared_ptr<Both> both_;
};

// A transfer of one of the two, whose failure is that of both.
class OfBoth final : public Transfer::Body {
 public:
  OfBoth(Transfer transfer, std::weak_ptr<Both> both) : transfer_(std::move(transfer)), both_(std::move(both)) {}
  void wait() override {
    try {
      transfer_.wait();
    } catch (const base::PeerError&) {
      if (const auto both = both_.lock(); both != nullptr) both->abort(base::say("an earlier transfer failed"));
      throw;
    }
  }

 private:
  Transfer transfer_;
  std::weak_ptr<Both> both_;
};

class ByPeerChannel final : public OfTwo {
 public:
  ByPeerChannel(std::unique_ptr<Channel> near, std::unique_ptr<Channel> far, std::function<bool(int)> is_near)
      : OfTwo(std::move(near), std::move(far)), is_near_(std::move(is_near)) {}

  Transfer send(const tensor::Tensor& tensor, int to, std::uint32_t tag) override {
    return of_both(of(to).send(tensor, to, tag));
  }
  Transfer recv(const tensor::Tensor& tensor, int from, std::uint32_t tag) override {
    return of_both(of(from).recv(tensor, from, tag));
  }

 private:
  Channel& of(int peer) { return is_near_(peer) ? *both_->near : *both_->far; }
  Transfer of_both(Transfer transfer) { return Transfer(std::make_unique<OfBoth>(std::move(transfer), both_)); }

  const std::function<bool(int)> is_near_;
};

// Near is the host's, far the device's.
class ByDeviceChannel final : public OfTwo {
 public:
  using OfTwo::OfTwo;
  Transfer send(const tensor::Tensor& tensor, int to, std::uint32_t tag) override {
    return of(tensor).send(tensor, to, tag);
  }
  Transfer recv(const tensor::Tensor& tensor, int from, std::uint32_t tag) override {
    return of(tensor).recv(tensor, from, tag);
  }
  std::vector<Transfer> exchange(const std::vector<Message>& in, const std::vector<Message>& out) override {
    if (in.empty() && out.empty()) return {};
    return of((in.empty() ? out : in).front().tensor).exchange(in, out);
  }
  std::vector<Transfer> gather(const std::vector<tensor::Tensor>& parts, std::uint32_t tag) override {
    return of(parts.front()).gather(parts, tag);
  }
  Transfer reduce_scatter(const std::vector<tensor::Tensor>& parts, std::uint32_t tag) override {
    return of(parts.front()).reduce_scatter(parts, tag);
  }
  void prove_order(Channel& world) override { both_->far->prove_order(world); }

 private:
  Channel& of(const tensor::Tensor& tensor) { return tensor.is_cpu() ? *both_->near : *both_->far; }
};

}  // namespace

std::unique_ptr<Channel> by_peer(std::unique_ptr<Channel> near, std::unique_ptr<Channel> far,
                                 std::function<bool(int rank)> is_near) {
  return std::make_unique<ByPeerChannel>(std::move(near), std::move(far), std::move(is_near));
}

std::unique_ptr<Channel> by_device(std::unique_ptr<Channel> host, std::unique_ptr<Channel> device) {
  return std::make_unique<ByDeviceChannel>(std::move(host), std::move(device));
}

std::uint64_t FlightLog::begin(const std::string& group, base::Phrase line, int peer, std::uint32_t tag,
                               std::int64_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  entries_[count_ % entries_.size()] = {base::monotonic_seconds(), group, line, peer, tag, bytes, State::posted, 0};
  return count_++;
}

void FlightLog::end(std::uint64_t number, State state) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (number + entries_.size() < count_) return;  // overwritten meanwhile
  Entry& entry = entries_[number % entries_.size()];
  entry.state = state;
  entry.ended_at = base::monotonic_seconds();
}

base::Text FlightLog::report(int rank) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (count_ == 0) return base::say("last operations of rank {}: none", rank);
  const double now = base::monotonic_seconds();
  std::vector<base::Text> lines{base::say("last operations of rank {}:", rank)};
  for (std::uint64_t i = count_ - std::min<std::uint64_t>(count_, entries_.size()); i < count_; ++i) {
    const Entry& entry = entries_[i % entries_.size()];
    const std::string lasted = base::format_duration(entry.ended_at - entry.posted_at);
    const base::Text end = entry.state == State::posted ? base::say("not done")
                           : entry.state == State::done ? base::say("done after {}", lasted)
                                                        : base::say("FAILED after {}", lasted);
    lines.push_back(base::say(*entry.line, i, base::format_duration(now - entry.posted_at), entry.group, entry.peer,
                              entry.tag, base::format_bytes(entry.bytes), end));
  }
  return base::lines(lines);
}

namespace {

constexpr base::Phrase sent = base::Phrase("  #{} {} ago  {} send to {} tag {:#x} {}: {}");
constexpr base::Phrase received = base::Phrase("  #{} {} ago  {} recv from {} tag {:#x} {}: {}");
constexpr base::Phrase summed = base::Phrase("  #{} {} ago  {} sum from {} tag {:#x} {}: {}");

struct Watched {
  std::shared_ptr<FlightLog> log;
  std::shared_ptr<WaitMark> mark;    // null: waits are not marked
  std::shared_ptr<Traffic> traffic;  // null: nothing is counted
};

class LoggedTransfer : public Transfer::Body {
 public:
  LoggedTransfer(Transfer inner, std::shared_ptr<const Watched> watched, std::uint64_t number, int world_peer)
      : inner_(std::move(inner)), watched_(std::move(watched)), number_(number), world_peer_(world_peer) {}
  ~LoggedTransfer() override {
    if (!inner_.pending()) return;
    if (std::uncaught_exceptions() > 0) return;  // the inner transfer is dropped
    try {
      wait();
    } catch (const std::exception&) {  // logged; the next wait on this channel tells
    }
  }
  void wait() override {
    const WaitMark::Scope waiting(watched_->mark.get(), world_peer_);
    const double begin = base::monotonic_seconds();
    try {
      inner_.wait();
    } catch (...) {
      watched_->log->end(number_, FlightLog::State::failed);
      throw;
    }
    watched_->log->end(number_, FlightLog::State::done);
    if (watched_->traffic != nullptr) watched_->traffic->waited(world_peer_, base::monotonic_seconds() - begin);
  }

 private:
  Transfer inner_;
  std::shared_ptr<const Watched> watched_;
  const std::uint64_t number_;
  const int world_peer_;
};

class LoggedChannel : public Channel {
 public:
  LoggedChannel(std::unique_ptr<Channel> inner, Watched watched, std::vector<int> world_ranks)
      : inner_(std::move(inner)),
        watched_(std::make_shared<const Watched>(std::move(watched))),
        world_ranks_(std::move(world_ranks)) {}

  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  const std::string& name() const override { return inner_->name(); }
  Transfer send(const tensor::Tensor& tensor, int to, std::uint32_t tag) override {
    const std::uint64_t number = begin(Way::out, to, tag, tensor);
    return follow(inner_->send(tensor, to, tag), number, to);
  }
  Transfer recv(const tensor::Tensor& tensor, int from, std::uint32_t tag) override {
    const std::uint64_t number = begin(Way::in, from, tag, tensor);
    return follow(inner_->recv(tensor, from, tag), number, from);
  }
  std::vector<Transfer> exchange(const std::vector<Message>& in, const std::vector<Message>& out) override {
    return follow(inner_->exchange(in, out), in, out);
  }
  std::vector<Transfer> gather(const std::vector<tensor::Tensor>& parts, std::uint32_t tag) override {
    const GatherMessages messages(parts, rank(), tag);
    return follow(inner_->gather(parts, tag), messages.in, messages.out);
  }
  // As it goes around a ring: each sum but its own passes through this rank.
  Transfer reduce_scatter(const std::vector<tensor::Tensor>& parts, std::uint32_t tag) override {
    const int next = (rank() + 1) % size(), last = (rank() + size() - 1) % size();
    const tensor::Tensor& own = parts[static_cast<std::size_t>(rank())];
    std::int64_t bytes = -own.bytes();
    for (const tensor::Tensor& part : parts) bytes += part.bytes();
    if (Traffic* const traffic = watched_->traffic.get(); traffic != nullptr) {
      traffic->sent(world_rank_of(next), bytes);
      traffic->received(world_rank_of(last), bytes);
    }
    return follow(inner_->reduce_scatter(parts, tag), watched_->log->begin(name(), summed, last, tag, bytes), last);
  }
  void check() override { inner_->check(); }
  void prove_order(Channel& world) override { inner_->prove_order(world); }
  void abort(const base::Text& reason) override { inner_->abort(reason); }

 private:
  enum class Way { in, out };

  int world_rank_of(int peer) const {
    const auto index = static_cast<std::size_t>(peer);
    return index < world_ranks_.size() ? world_ranks_[index] : WaitMark::others;
  }
  std::uint64_t begin(Way way, int peer, std::uint32_t tag, const tensor::Tensor& tensor) {
    const auto bytes = tensor.bytes();
    if (Traffic* const traffic = watched_->traffic.get(); traffic != nullptr)
      way == Way::in ? traffic->received(world_rank_of(peer), bytes) : traffic->sent(world_rank_of(peer), bytes);
    return watched_->log->begin(name(), way == Way::in ? received : sent, peer, tag, bytes);
  }
  Transfer follow(Transfer inner, std::uint64_t number, int peer) {
    return Transfer(std::make_unique<LoggedTransfer>(std::move(inner), watched_, number, world_rank_of(peer)));
  }

  std::vector<Transfer> follow(std::vector<Transfer> transfers, const std::vector<Message>& in,
                               const std::vector<Message>& out) {
    for (std::size_t i = 0; i < transfers.size(); ++i) {
      const bool receives = i < in.size();
      const Message& message = receives ? in[i] : out[i - in.size()];
      const std::uint64_t number = begin(receives ? Way::in : Way::out, message.peer, message.tag, message.tensor);
      transfers[i] = follow(std::move(transfers[i]), number, message.peer);
    }
    return transfers;
  }

  std::unique_ptr<Channel> inner_;
  const std::shared_ptr<const Watched> watched_;
  const std::vector<int> world_ranks_;
};

}  // namespace

std::unique_ptr<Channel> logged(std::unique_ptr<Channel> inner, std::shared_ptr<FlightLog> log,
                                std::shared_ptr<WaitMark> mark, std::shared_ptr<Traffic> traffic,
                                std::vector<int> world_ranks) {
  return std::make_unique<LoggedChannel>(std::move(inner), Watched{std::move(log), std::move(mark), std::move(traffic)},
                                         std::move(world_ranks));
}

}  // namespace troika::comm
