#include "comm/rank_channels.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <deque>
#include <exception>
#include <set>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/say.h"
#include "base/cause.h"
#include "base/text.h"
#include "comm/failure.h"
#include "comm/mailbox.h"
#include "tensor/tensor.h"

namespace troika::comm {
namespace {

constexpr double nap_seconds = 0.1;  // between looks at whether a peer still lives

using Key = std::pair<std::uint64_t, std::uint32_t>;  // channel, tag

// A message on one of its ends. Its transfer and the transport share it.
struct Parcel {
  Operation operation;
  std::uint64_t channel = 0;
  tensor::Tensor local;  // on the host, alive until it has arrived
  Line* line = nullptr;  // the sender's, once there was a free one
  enum class State { under_way, done, failed } state = State::under_way;
  base::Text cause;  // of a failure
};
using SharedParcel = std::shared_ptr<Parcel>;

// Another rank of this host, and the two boxes between it and this one.
struct Peer {
  Peer(int world_rank, Mailboxes theirs, int my_place, Box& in_box)
      : rank(world_rank), boxes(std::move(theirs)), out(boxes.box(my_place)), in(in_box) {
    constexpr long pidfd_open = 434;  // since Linux 5.3; without it heartbeats tell that the owner has ended
    process = static_cast<int>(syscall(pidfd_open, boxes.owner(), 0));
  }
  ~Peer() {
    if (process >= 0) close(process);
  }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  bool lives() const {
    if (process < 0) return true;
    pollfd ends{process, POLLIN, 0};
    return poll(&ends, 1, 0) == 0;
  }

  const int rank;
  Mailboxes boxes;
  Box& out;
  Box& in;
  int process = -1;                                      // a descriptor of it, or -1
  std::uint64_t sent = 0, seen = 0;                      // lines
  std::uint64_t written = 0;                             // sheets
  std::array<bool, Box::sheets> in_use{};                // sheets
  std::deque<SharedParcel> to_post;                      // for want of a free line
  std::vector<SharedParcel> posted;                      // not yet received
  std::map<Key, std::deque<Line*>> arrived;              // without a recv
  std::map<Key, std::deque<SharedParcel>> wanted;        // without a message
  std::vector<std::pair<SharedParcel, Line*>> to_fetch;  // both are there
  std::set<std::uint64_t> closed;                        // channels
};

// FNV-1a, of 64 bits.
std::uint64_t hash_of(const std::string& name) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return hash;
}

}  // namespace

// The boxes of all ranks of the host that this one reaches, and what is on its way.
class MemoryLinks {
 public:
  using GatherTexts = MemoryTransport::GatherTexts;
  MemoryLinks(int world_rank, const GatherTexts& gather_texts, const MemorySettings& settings);

  int rank() const { return rank_; }
  bool reaches(int world_rank) const { return peers_.count(world_rank) > 0; }
  int neighbours() const { return static_cast<int>(peers_.size()); }

  SharedParcel send(std::uint64_t channel, const Operation& operation, tensor::Tensor local);
  SharedParcel recv(std::uint64_t channel, const Operation& operation, tensor::Tensor local);
  // Until the parcel has arrived or failed, or `failure` says something.
  void await(Parcel& parcel, const std::function<base::Text()>& failure);
  void drop(const SharedParcel& parcel);
  void close(std::uint64_t channel, const std::vector<int>& world_ranks);
  void ring_own_bell() { own_->bell().ring(); }

 private:
  void meet(const std::map<int, std::string>& cards);
  void move();
  bool spin(std::uint32_t count) const;
  void post(Peer& peer);
  void collect(Peer& peer);
  void look(Peer& peer);
  void match(Peer& peer, const Key& key);
  void fetch(Peer& peer);
  void fetch(Peer& peer, Parcel& parcel, Line& line);
  void give_up_on(Parcel& parcel);

  const int rank_;
  const MemorySettings settings_;
  std::unique_ptr<Mailboxes> own_;  // null: it reaches nobody
  std::map<int, std::unique_ptr<Peer>> peers_;
};

MemoryLinks::MemoryLinks(int world_rank, const GatherTexts& gather_texts, const MemorySettings& settings)
    : rank_(world_rank), settings_(settings) {
  try {
    own_ = std::make_unique<Mailboxes>();
  } catch (const base::PeerError&) {  // then by the others' way
  }
  meet(gather_texts("memory/cards", own_ == nullptr ? "" : own_->card()));
  std::vector<int> reached;
  for (const auto& [rank, peer] : peers_) reached.push_back(rank);
  const auto reached_by = gather_texts("memory/reached", fmt::format("{}", fmt::join(reached, " ")));
  for (const int rank : reached) {
    const std::vector<std::string> theirs = base::split(reached_by.at(rank), ' ');
    if (std::find(theirs.begin(), theirs.end(), std::to_string(rank_)) == theirs.end()) peers_.erase(rank);
  }
}

// Places are those in the order of world ranks.
void MemoryLinks::meet(const std::map<int, std::string>& cards) {
  const auto my_place = static_cast<int>(std::distance(cards.begin(), cards.find(rank_)));
  int place = -1;
  for (const auto& [rank, card] : cards) {
    ++place;
    if (rank == rank_ || own_ == nullptr || card.empty()) continue;
    if (std::max(place, my_place) >= Mailboxes::most_ranks) continue;
    try {
      peers_[rank] = std::make_unique<Peer>(rank, Mailboxes::of(card), my_place, own_->box(place));
    } catch (const base::PeerError&) {  // it may not be read
      peers_.erase(rank);
    }
  }
}

SharedParcel MemoryLinks::send(std::uint64_t channel, const Operation& operation, tensor::Tensor local) {
  Peer& peer = *peers_.at(operation.peer);
  peer.to_post.push_back(
      std::make_shared<Parcel>(Parcel{operation, channel, std::move(local), nullptr, Parcel::State::under_way, {}}));
  const SharedParcel parcel = peer.to_post.back();
  post(peer);
  return parcel;
}

SharedParcel MemoryLinks::recv(std::uint64_t channel, const Operation& operation, tensor::Tensor local) {
  Peer& peer = *peers_.at(operation.peer);
  const auto parcel =
      std::make_shared<Parcel>(Parcel{operation, channel, std::move(local), nullptr, Parcel::State::under_way, {}});
  const Key key{channel, operation.tag};
  peer.wanted[key].push_back(parcel);
  match(peer, key);
  return parcel;
}

// A line for everything that waits for one, in order.
void MemoryLinks::post(Peer& peer) {
  bool rings = false;
  while (!peer.to_post.empty()) {
    Line& line = peer.out.line[peer.sent % Box::lines];
    if (line.state.load(std::memory_order_acquire) != Line::free) break;
    const SharedParcel parcel = peer.to_post.front();
    peer.to_post.pop_front();
    const auto bytes = static_cast<std::size_t>(parcel->operation.bytes);
    line.tag = parcel->operation.tag;
    line.number = peer.sent++;
    line.channel = parcel->channel;
    line.bytes = bytes;
    line.address = 0;
    line.sheet = 0;
    const std::size_t sheet = peer.written % Box::sheets;
    if (bytes > sizeof(Box::Sheet) || (bytes > 0 && peer.in_use[sheet])) {
      line.address = reinterpret_cast<std::uint64_t>(parcel->local.data());
    } else if (bytes > 0) {
      std::memcpy(peer.out.sheet[sheet].data(), parcel->local.data(), bytes);
      line.sheet = static_cast<std::uint32_t>(sheet + 1);
      peer.in_use[sheet] = true;
      ++peer.written;
    }
    line.state.store(Line::posted, std::memory_order_release);
    parcel->line = &line;
    peer.posted.push_back(parcel);
    rings = true;
  }
  if (rings) peer.boxes.bell().ring();
}

// Collects the lines that the receiver is done with.
void MemoryLinks::collect(Peer& peer) {
  const auto settled = [&](const SharedParcel& parcel) {
    const std::uint32_t state = parcel->line->state.load(std::memory_order_acquire);
    if (state != Line::received && state != Line::refused) return false;
    parcel->state = state == Line::received ? Parcel::State::done : Parcel::State::failed;
    if (state == Line::refused)
      parcel->cause = base::say("rank {} has posted another size for it, or could not read it", peer.rank);
    if (parcel->line->sheet > 0) peer.in_use[parcel->line->sheet - 1] = false;
    parcel->line->state.store(Line::free, std::memory_order_release);
    return true;
  };
  peer.posted.erase(std::remove_if(peer.posted.begin(), peer.posted.end(), settled), peer.posted.end());
}

// Looks for messages that have arrived.
void MemoryLinks::look(Peer& peer) {
  while (true) {
    Line& line = peer.in.line[peer.seen % Box::lines];
    const std::uint32_t state = line.state.load(std::memory_order_acquire);
    if ((state != Line::posted && state != Line::withdrawn) || line.number != peer.seen) return;
    ++peer.seen;
    if (line.tag == Line::closes) {
      peer.closed.insert(line.channel);
      line.state.store(Line::received, std::memory_order_release);
      continue;
    }
    const Key key{line.channel, line.tag};
    peer.arrived[key].push_back(&line);
    match(peer, key);
  }
}

void MemoryLinks::match(Peer& peer, const Key& key) {
  const auto arrived = peer.arrived.find(key);
  const auto wanted = peer.wanted.find(key);
  if (arrived == peer.arrived.end() || wanted == peer.wanted.end()) return;
  while (!arrived->second.empty() && !wanted->second.empty()) {
    peer.to_fetch.emplace_back(wanted->second.front(), arrived->second.front());
    arrived->second.pop_front();
    wanted->second.pop_front();
  }
  if (arrived->second.empty()) peer.arrived.erase(arrived);
  if (wanted->second.empty()) peer.wanted.erase(wanted);
}

void MemoryLinks::fetch(Peer& peer, Parcel& parcel, Line& line) {
  const auto bytes = static_cast<std::size_t>(parcel.operation.bytes);
  parcel.state = Parcel::State::failed;
  std::uint32_t expected = Line::posted;
  if (!line.state.compare_exchange_strong(expected, Line::reading)) {
    parcel.cause = base::say("rank {} has given up", peer.rank);
    line.state.store(Line::refused, std::memory_order_release);
    return;
  }
  if (line.bytes != bytes) {
    parcel.cause = base::say("rank {} sends {} bytes but rank {} receives {}", peer.rank, line.bytes, rank_, bytes);
  } else if (bytes == 0 || line.sheet > 0) {
    if (bytes > 0) std::memcpy(parcel.local.data(), peer.in.sheet[line.sheet - 1].data(), bytes);
    parcel.state = Parcel::State::done;
  } else if (read_memory(peer.boxes.owner(), line.address, bytes, parcel.local.data())) {
    parcel.state = Parcel::State::done;
  } else {
    parcel.cause = base::say("the memory of rank {} cannot be read: {}", peer.rank, base::system_cause(errno));
  }
  line.state.store(parcel.state == Parcel::State::done ? Line::received : Line::refused, std::memory_order_release);
}

void MemoryLinks::fetch(Peer& peer) {
  if (peer.to_fetch.empty()) return;
  for (const auto& [parcel, line] : std::exchange(peer.to_fetch, {})) {
    fetch(peer, *parcel, *line);
    peer.boxes.bell().ring();
  }
}

void MemoryLinks::move() {
  for (const auto& [rank, peer] : peers_) {
    collect(*peer);
    post(*peer);
    look(*peer);
    fetch(*peer);
  }
}

// Whether the bell has been rung since.
bool MemoryLinks::spin(std::uint32_t count) const {
  if (settings_.spin_seconds <= 0) return false;
  const double until = base::monotonic_seconds() + settings_.spin_seconds;
  do {
    for (int i = 0; i < 100; ++i) {
      if (own_->bell().count() != count) return true;
      std::atomic_signal_fence(std::memory_order_seq_cst);
    }
  } while (base::monotonic_seconds() < until);
  return false;
}

void MemoryLinks::await(Parcel& parcel, const std::function<base::Text()>& failure) {
  const Peer& peer = *peers_.at(parcel.operation.peer);
  const double begin = base::monotonic_seconds();
  while (true) {
    const std::uint32_t count = own_->bell().count();
    move();
    if (parcel.state != Parcel::State::under_way) return;
    base::Text cause = failure();
    if (cause.empty() && peer.closed.count(parcel.channel) > 0) cause = base::say("rank {} has left", peer.rank);
    if (cause.empty() && !peer.lives()) cause = base::say("the process of rank {} has ended", peer.rank);
    if (cause.empty() && base::monotonic_seconds() - begin >= settings_.wait_seconds)
      cause = base::say("it did not finish within {:g} s", settings_.wait_seconds);
    if (!cause.empty()) {
      parcel.state = Parcel::State::failed;
      parcel.cause = std::move(cause);
      return;
    }
    if (!spin(count)) own_->bell().wait(count, std::min(nap_seconds, settings_.wait_seconds));
  }
}

// The sender's memory is its own again.
void MemoryLinks::give_up_on(Parcel& parcel) {
  if (parcel.line == nullptr) return;
  const Peer& peer = *peers_.at(parcel.operation.peer);
  std::uint32_t expected = Line::posted;
  if (parcel.line->state.compare_exchange_strong(expected, Line::withdrawn)) return;
  constexpr double patience_seconds = 2;  // a reader that waits is not waited for
  const double begin = base::monotonic_seconds();
  while (parcel.line->state.load(std::memory_order_acquire) == Line::reading && peer.lives() &&
         base::monotonic_seconds() - begin < patience_seconds)
    sched_yield();
}

// A message that nobody will wait for any more.
void MemoryLinks::drop(const SharedParcel& parcel) {
  Peer& peer = *peers_.at(parcel->operation.peer);
  const auto is_it = [&](const SharedParcel& one) { return one == parcel; };
  if (parcel->operation.direction == Direction::send) {
    peer.to_post.erase(std::remove_if(peer.to_post.begin(), peer.to_post.end(), is_it), peer.to_post.end());
    if (std::any_of(peer.posted.begin(), peer.posted.end(), is_it)) give_up_on(*parcel);
    parcel->local = {};
    return;
  }
  const auto wanted = peer.wanted.find({parcel->channel, parcel->operation.tag});
  if (wanted != peer.wanted.end())
    wanted->second.erase(std::remove_if(wanted->second.begin(), wanted->second.end(), is_it), wanted->second.end());
  peer.to_fetch.erase(std::remove_if(peer.to_fetch.begin(), peer.to_fetch.end(),
                                     [&](const auto& pair) { return pair.first == parcel; }),
                      peer.to_fetch.end());
}

void MemoryLinks::close(std::uint64_t channel, const std::vector<int>& world_ranks) {
  for (const int rank : world_ranks) {
    if (!reaches(rank)) continue;
    Operation leave;
    leave.peer = rank;
    leave.tag = Line::closes;
    send(channel, leave, {});
  }
}

namespace {

struct MemoryGroup : MessageGroup {
  std::uint64_t channel = 0;
  std::shared_ptr<MemoryLinks> links;
};

class MemoryTransfer final : public Transfer::Body {
 public:
  MemoryTransfer(std::shared_ptr<MemoryGroup> group, const Operation& operation, const tensor::Tensor& tensor)
      : group_(std::move(group)), copy_(tensor, operation.direction) {
    const bool sends = operation.direction == Direction::send;
    parcel_ = sends ? group_->links->send(group_->channel, operation, copy_.local())
                    : group_->links->recv(group_->channel, operation, copy_.local());
  }

  ~MemoryTransfer() override {
    try {
      if (!waited_ && std::uncaught_exceptions() == 0) wait();
    } catch (const base::Error&) {  // the next wait on this channel tells
    }
    if (parcel_->state != Parcel::State::done) group_->links->drop(parcel_);
  }

  void wait() override {
    waited_ = true;
    if (const base::Text failure = group_->why_failed(); !failure.empty()) fail(failure);
    group_->links->await(*parcel_, [this] { return group_->why_failed(); });
    if (parcel_->state == Parcel::State::failed) fail(parcel_->cause);
    copy_.arrived();
  }

 private:
  [[noreturn]] void fail(const base::Text& cause) {
    group_->set_failure(after_failure(cause));
    throw base::PeerError(failure_text(parcel_->operation, group_->name, cause));
  }

  std::shared_ptr<MemoryGroup> group_;
  HostCopy copy_;
  SharedParcel parcel_;
  bool waited_ = false;
};

class MemoryChannel final : public MessageChannel {
 public:
  explicit MemoryChannel(std::shared_ptr<MemoryGroup> group) : group_(std::move(group)) {}
  ~MemoryChannel() override {
    group_->set_failure(channel_closed());
    group_->links->close(group_->channel, group_->world_ranks);
  }

  void abort(const base::Text& reason) override {
    group_->set_failure(reason);
    group_->links->ring_own_bell();
  }

 private:
  const MessageGroup& group() const override { return *group_; }
  Transfer post(Direction direction, const tensor::Tensor& tensor, int peer, std::uint32_t tag) override {
    const int world_rank = group_->world_ranks[static_cast<std::size_t>(peer)];
    if (!group_->links->reaches(world_rank))
      throw base::BugError(fmt::format("rank {} is not reached over memory", world_rank));
    const Operation operation{direction, tensor.bytes(), world_rank, tag};
    return Transfer(std::make_unique<MemoryTransfer>(group_, operation, tensor));
  }

  std::shared_ptr<MemoryGroup> group_;
};

}  // namespace

MemoryTransport::MemoryTransport(int world_rank, const GatherTexts& gather_texts, const MemorySettings& settings)
    : links_(std::make_shared<MemoryLinks>(world_rank, gather_texts, settings)) {}

bool MemoryTransport::reaches(int world_rank) const { return links_->reaches(world_rank); }

bool MemoryTransport::reaches_all(const std::vector<int>& world_ranks) const {
  return std::all_of(world_ranks.begin(), world_ranks.end(),
                     [this](int rank) { return rank == links_->rank() || reaches(rank); });
}

int MemoryTransport::neighbours() const { return links_->neighbours(); }

bool MemoryTransport::reaches_any(const std::vector<int>& world_ranks) const {
  return std::any_of(world_ranks.begin(), world_ranks.end(), [this](int rank) { return reaches(rank); });
}

std::unique_ptr<Channel> MemoryTransport::group(const std::string& name, const std::vector<int>& world_ranks) {
  if (world_ranks.size() == 1) return make_self_channel(name);
  auto group = std::make_shared<MemoryGroup>();
  group->name = name;
  group->world_ranks = world_ranks;
  group->rank =
      static_cast<int>(std::find(world_ranks.begin(), world_ranks.end(), links_->rank()) - world_ranks.begin());
  group->channel = hash_of(fmt::format("{}/{}", name, built_[name]++));
  group->links = links_;
  return std::make_unique<MemoryChannel>(std::move(group));
}

}  // namespace troika::comm
